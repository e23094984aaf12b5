"""Training of the embedded safety classifier: data, rows of our own, networks, export and calibration (README.md)."""

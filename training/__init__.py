"""Training of the embedded safety classifier: data, rows of our own, networks, export and calibration (README.md)."""

import antiphon.evaluators  # noqa: F401  (switches the telemetry of onnxruntime off, before it is imported)

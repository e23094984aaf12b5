"""The ledger against a vendor's own figures: exports are read (`exports.py`), summed and compared (`compare.py`)."""

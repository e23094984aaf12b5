"""Stores of accounts: one contract (`contract.py`), three stores, one set of tests."""

"""Decisions about safety: what evaluators find, and what becomes of it. Pure: no I/O, no clock."""

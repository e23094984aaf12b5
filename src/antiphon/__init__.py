"""Antiphon: a self-hosted Chat Completions gateway."""

__version__ = "0.1.0"

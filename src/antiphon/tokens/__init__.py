"""Tokens counted here, for answers whose upstream reported no usage.

Exact where the model's family is known (OpenAI's encodings, offline, from rank files in `data/`), a rule of thumb
elsewhere. The exact tokenizer needs much memory and CPU, so it lives in a child process (`python -m antiphon.tokens`)
that is started on first need; nothing here blocks the event loop or raises to the caller.
"""

from __future__ import annotations

from antiphon.tokens.counter import TokenCounter

__all__ = ["TokenCounter"]

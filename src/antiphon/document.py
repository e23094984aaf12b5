"""A JSON object as it travels: a dictionary that is edited in place. Unknown keys stay [nothing-lost]."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

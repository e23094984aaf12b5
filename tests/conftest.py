"""What holds for every test."""

from __future__ import annotations

import os

from hypothesis import settings

# In CI the same examples every time: a change is judged by what it changed. Elsewhere new ones, to find the unforeseen.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

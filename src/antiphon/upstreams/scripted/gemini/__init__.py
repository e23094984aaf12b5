"""Google's generateContent and streamGenerateContent."""

from __future__ import annotations

from antiphon.upstreams.scripted.gemini.language import GeminiLanguage

LANGUAGE = GeminiLanguage()

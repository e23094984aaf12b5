"""Cohere's chat, version 2."""

from __future__ import annotations

from antiphon.upstreams.scripted.cohere.language import CohereLanguage

LANGUAGE = CohereLanguage()

"""Anthropic's Messages API."""

from __future__ import annotations

from antiphon.upstreams.scripted.anthropic.language import AnthropicLanguage

LANGUAGE = AnthropicLanguage()

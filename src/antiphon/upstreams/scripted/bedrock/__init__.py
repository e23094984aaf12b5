"""Amazon Bedrock's Converse and ConverseStream."""

from __future__ import annotations

from antiphon.upstreams.scripted.bedrock.language import BedrockLanguage

LANGUAGE = BedrockLanguage()

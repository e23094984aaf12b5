"""Cohere's chat, version 2."""

from antiphon.protocols.cohere.protocol import Cohere

__all__ = ["Cohere"]

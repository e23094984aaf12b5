"""Gemini, on Google's own API and on Vertex."""

from antiphon.protocols.gemini.models import default_facts
from antiphon.protocols.gemini.protocol import GEMINI, VERTEX_GEMINI, Gemini

__all__ = ["GEMINI", "VERTEX_GEMINI", "Gemini", "default_facts"]

"""Anthropic Messages, as Anthropic, Google Vertex, AWS Bedrock and Azure Foundry serve it."""

from antiphon.protocols.anthropic.flavor import FLAVORS, Flavor
from antiphon.protocols.anthropic.protocol import Anthropic

__all__ = ["FLAVORS", "Anthropic", "Flavor"]

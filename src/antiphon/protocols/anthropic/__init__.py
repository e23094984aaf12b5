"""Anthropic Messages, as Anthropic, Google Vertex, AWS Bedrock and Azure Foundry serve it."""

from antiphon.protocols.anthropic.flavor import FLAVORS, Flavor
from antiphon.protocols.anthropic.protocol import DEFAULTS, Anthropic

__all__ = ["DEFAULTS", "FLAVORS", "Anthropic", "Flavor"]

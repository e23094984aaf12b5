"""Amazon Bedrock: Converse and ConverseStream."""

from antiphon.protocols.bedrock.converse import Bedrock

__all__ = ["Bedrock"]

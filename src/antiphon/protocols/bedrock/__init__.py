"""Amazon Bedrock: Converse and ConverseStream, and InvokeModel for Claude."""

from antiphon.protocols.bedrock.converse import Bedrock
from antiphon.protocols.bedrock.invoke import Invoke

__all__ = ["Bedrock", "Invoke"]

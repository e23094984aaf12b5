"""Evaluators that are services elsewhere. A vendor is a `Service`: which questions to ask about a text, and how to read
the answers. All else (time limits, windows, memory, failures) is the same for all of them (`remote`)."""

from __future__ import annotations

from antiphon.evaluators.remote.azure import Azure
from antiphon.evaluators.remote.chat import Chat
from antiphon.evaluators.remote.http import Own
from antiphon.evaluators.remote.openai import OpenAIModerations
from antiphon.evaluators.remote.remote import RemoteEvaluator
from antiphon.evaluators.remote.service import Service, ServiceRequest, Unreadable
from antiphon.evaluators.remote.transport import HttpTransport, Transport, UpstreamTransport

__all__ = [
    "Azure",
    "Chat",
    "HttpTransport",
    "OpenAIModerations",
    "Own",
    "RemoteEvaluator",
    "Service",
    "ServiceRequest",
    "Transport",
    "Unreadable",
    "UpstreamTransport",
]

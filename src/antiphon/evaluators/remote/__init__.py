"""Evaluators that are services elsewhere. A vendor is a `Service`: which questions to ask about a text, and how to read
the answers. All else (time limits, windows, memory, failures) is the same for all of them (`remote`)."""

from __future__ import annotations

from antiphon.evaluators.remote.azure import Azure
from antiphon.evaluators.remote.chat import Chat
from antiphon.evaluators.remote.http import Own
from antiphon.evaluators.remote.openai import OpenAI
from antiphon.evaluators.remote.remote import Remote
from antiphon.evaluators.remote.service import Question, Service, Unreadable
from antiphon.evaluators.remote.transport import HttpTransport, Transport, UpstreamTransport

__all__ = [
    "Azure",
    "Chat",
    "HttpTransport",
    "OpenAI",
    "Own",
    "Question",
    "Remote",
    "Service",
    "Transport",
    "Unreadable",
    "UpstreamTransport",
]

"""What the scripted upstream answers when no test scripts it: reads the request, composes replies, plays a fault."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace
from typing import cast

from antiphon.upstreams.scripted import faults
from antiphon.upstreams.scripted.language import Credential, Language, RefusedError, ScriptedAnswer
from antiphon.upstreams.scripted.openai import OpenAILanguage
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.reply import Reply, compose
from antiphon.upstreams.scripted.script import Script

# Each is a package beside this file with a LANGUAGE. They are loaded when they are asked for: a gateway that serves no
# scripted upstream does not pay for them.
FOREIGN = ("anthropic", "bedrock", "cohere", "gemini")
LANGUAGES = ("openai", *FOREIGN)
MODELS = {"scripted": "echoes what it is told", **{name: fault.what for name, fault in faults.FAULTS.items()}}


def find_language(name: str) -> Language:
    if name == "openai":
        return OpenAILanguage()
    if name not in FOREIGN:
        raise ValueError(f"speaks: {name!r} is none of {', '.join(LANGUAGES)}")
    return cast(Language, importlib.import_module(f"antiphon.upstreams.scripted.{name}").LANGUAGE)


class Answers:
    """Answers requests in one language. Never raises: what it cannot read is answered with the vendor's 400."""

    def __init__(self, language: Language, credential: Credential | None = None) -> None:
        self.language = language
        self._credential = credential

    def __call__(self, request: Received, replies: tuple[Reply, ...] = ()) -> Script:
        """`replies`: what to say, in place of what the request makes it say."""
        try:
            script = self.language.route(request, self._credential, MODELS)
            return self._answer(request, replies) if script is None else script
        except RefusedError as refused:
            return self.language.refuse(refused)
        except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
            return self.language.refuse(RefusedError(400, ""))  # shapes that no validated request has

    def _answer(self, request: Received, replies: tuple[Reply, ...]) -> Script:
        document = self.language.read(request)
        said = replies or tuple(compose(document))
        if document.get("thinks") is True:
            said = tuple(replace(reply, reasoning=reply.reasoning or faults.REASONING) for reply in said)
        answer = ScriptedAnswer(self.language, document, said, int(time.time()))
        return faults.find(document.get("model"))(answer)


answer = Answers(OpenAILanguage())

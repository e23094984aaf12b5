"""A Chat Completions request, said as a Converse request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from antiphon.chat.request import KNOWN
from antiphon.document import Document
from antiphon.errors import RouteError
from antiphon.protocols.bedrock.families import ModelFamily, family_of
from antiphon.protocols.bedrock.messages import BedrockConversation, instruction_texts
from antiphon.protocols.bedrock.thinking import Plan, ThinkingRequest, plan
from antiphon.protocols.bedrock.tools import Tools
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import Encoded, Memory
from antiphon.protocols.sigv4 import escape

# Parameters that Converse has no place for -> the values that ask for nothing.
UNSAID: Final[Mapping[str, tuple[Any, ...]]] = {
    "audio": (),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "modalities": (["text"],),
    "prediction": (),
    "presence_penalty": (0,),
    "prompt_cache_key": (),
    "prompt_cache_options": ({},),
    "prompt_cache_retention": (),
    "seed": (),
    "store": (False,),
    "top_logprobs": (0,),
    "verbosity": ("medium",),
    "web_search_options": (),
}
# Converse's own fields, which a client may send beside OpenAI's. Those of the second row are put together with ours.
OWN_FIELDS: Final = (
    *("guardrailConfig", "performanceConfig", "promptVariables", "additionalModelResponseFieldPaths"),
    *("serviceTier", "requestMetadata"),
)
JOINED_FIELDS: Final = ("inferenceConfig", "toolConfig", "outputConfig", "additionalModelRequestFields")
ELSEWHERE: Final = frozenset(
    {*OWN_FIELDS, *JOINED_FIELDS, "thinking", "top_k", "cache_control", "system", "extra_body"}
)
TIERS: Final = frozenset({"default", "flex", "priority", "reserved"})
MOST_PAIRS: Final = 16
PAIR: Final = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}")
JSON_ONLY: Final = "Answer with one JSON object and nothing else."


def encode(document: Document, model: str, facts: ModelFacts, memory: Memory | None, *, strict: bool) -> Encoded:
    return _Request(document, model, facts, strict=strict).encode(memory)


class _Request:
    """One request under way: what is read of it, and the body that grows of that."""

    def __init__(self, document: Document, model: str, facts: ModelFacts, *, strict: bool) -> None:
        extra = document.get("extra_body")
        self._document = {**document, **extra} if isinstance(extra, dict) else document
        self._model = model
        self._facts = facts
        self._family: ModelFamily = family_of(model)
        self._changes = Changes(strict=strict)
        self._additional: Document = {}

    def encode(self, memory: Memory | None) -> Encoded:
        document, changes = self._document, self._changes
        talk = BedrockConversation(self._facts, memory, changes)
        talk.read(document["messages"])
        talk.system += instruction_texts(document.get("system"))
        max_tokens = self._max_tokens()
        word = document.get("reasoning_effort")
        asked = ThinkingRequest(word if isinstance(word, str) else "", self._facts, max_tokens, talk.unsigned, changes)
        thought = plan(document, self._family, asked)
        tools = Tools(self._facts, self._family, changes)
        tools.read(document, list(talk.called), thinks=thought.thinks)
        output = self._output(thought, talk)
        talk.begin_with_user()
        talk.end_with_user()
        talk.add_cache_point(document)
        self._additional |= {**thought.additional, **tools.additional}
        body: Document = {"messages": talk.messages}
        parts = (
            ("system", talk.system),
            ("inferenceConfig", self._inference(thought, max_tokens)),
            ("toolConfig", tools.config),
            ("outputConfig", output),
            ("requestMetadata", self._metadata()),
            ("serviceTier", self._tier()),
        )
        body |= {key: value for key, value in parts if value}
        self._pass_on(body)
        self._name_unsaid()
        return Encoded(path(self._model, stream=document.get("stream") is True), body, (), tuple(changes.made))

    def _max_tokens(self) -> int | None:
        name = "max_completion_tokens" if self._document.get("max_completion_tokens") else "max_tokens"
        asked, most = self._document.get(name), self._facts.max_output
        if not isinstance(asked, int):
            return None
        if asked < 1:
            self._changes.rewrite(name, "This upstream's least limit is 1.")
            return 1
        if most is not None and asked > most:
            self._changes.rewrite(name, f"This model's answers have {most} tokens at most.")
            return most
        return asked

    def _inference(self, thought: Plan, max_tokens: int | None) -> Document:
        document = self._document
        config: Document = {}
        if (limit := max_tokens if max_tokens is not None else thought.max_tokens) is not None:
            config["maxTokens"] = limit
        temperature, top_p = self._sampling("temperature", thought), self._sampling("top_p", thought)
        if temperature is not None:
            if temperature > 1:
                self._changes.rewrite("temperature", "This upstream's highest temperature is 1.")
                temperature = 1
            config["temperature"] = temperature
        if top_p is not None:
            config["topP"] = top_p
        if self._sampling("top_k", thought) is not None:
            holder = self._additional
            for key in self._family.top_k[:-1]:
                holder = holder.setdefault(key, {})
            holder[self._family.top_k[-1]] = document["top_k"]
        stop = document.get("stop")
        stops = [word for word in ([stop] if isinstance(stop, str) else stop or ()) if word]
        if stops:
            config["stopSequences"] = stops
        return config

    def _sampling(self, name: str, thought: Plan) -> Any:
        """The value, where the model takes it."""
        value = self._document.get(name)
        if value is None:
            return None
        if not self._facts.takes_sampling:
            self._changes.drop(name, "This model takes no sampling parameters.")
            return None
        if thought.fixed_sampling or (thought.thinks and not _suits_thinking(name, value)):
            self._changes.drop(name, "This model does not take it while it thinks.")
            return None
        return value

    def _output(self, thought: Plan, talk: BedrockConversation) -> Document:
        config: Document = {}
        form = self._document.get("response_format") or {}
        kind = form.get("type")
        if kind == "json_schema":
            self._schema(form.get("json_schema") or {}, config, talk)
        elif kind == "json_object":
            self._changes.rewrite("response_format", "This upstream has no JSON mode: the model was told so in words.")
            talk.system.append({"text": JSON_ONLY})
        elif kind not in (None, "text"):
            self._changes.drop("response_format", "This upstream knows no such format.")
        if thought.output_effort is not None:
            config["effort"] = thought.output_effort
        return config

    def _schema(self, wanted: Document, config: Document, talk: BedrockConversation) -> None:
        schema = wanted.get("schema") or {"type": "object"}
        text = msgspec.json.encode(schema).decode()
        if not self._facts.takes_schema:
            self._changes.rewrite("response_format", "This model takes no schema: it was told so in words.")
            talk.system.append({"text": f"{JSON_ONLY} It must be valid against this JSON schema:\n{text}"})
            return
        told: Document = {"schema": text, "name": wanted.get("name")}
        if isinstance(wanted.get("description"), str):
            told["description"] = wanted["description"]
        config["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": told}}

    def _metadata(self) -> Document:
        """`metadata`, `user` and `safety_identifier`: they stand in AWS's invocation logs."""
        pairs: Document = {}
        given = self._document.get("metadata")
        wanted = {f"metadata.{key}": (key, value) for key, value in (given or {}).items()}
        wanted |= {key: (key, self._document[key]) for key in ("user", "safety_identifier") if self._document.get(key)}
        for param, (key, value) in wanted.items():
            fits = isinstance(value, str) and key and PAIR.fullmatch(key) and PAIR.fullmatch(value)
            if fits and len(pairs) < MOST_PAIRS:
                pairs.setdefault(key, value)
            else:
                self._changes.drop(param, "This upstream takes 16 pairs of 256 plain characters.")
        return pairs

    def _tier(self) -> Document | None:
        tier = self._document.get("service_tier")
        if tier in (None, "auto"):
            return None
        if tier in TIERS:
            return {"type": tier}
        self._changes.drop("service_tier", "This upstream has no such tier.")
        return None

    def _pass_on(self, body: Document) -> None:
        """What is said in Converse's own words wins over what we made of OpenAI's. All else that OpenAI does not know
        is the model's own."""
        document = self._document
        own = {key: value for key, value in document.items() if key not in KNOWN and key not in ELSEWHERE}
        additional = {**self._additional, **own}
        if additional:
            body["additionalModelRequestFields"] = additional
        for key in OWN_FIELDS:
            if document.get(key) is not None:
                body[key] = document[key]
        for key in JOINED_FIELDS:
            if isinstance(given := document.get(key), dict) and given:
                body[key] = {**body.get(key, {}), **given}

    def _name_unsaid(self) -> None:
        for key, silent in UNSAID.items():
            value = self._document.get(key)
            if value is not None and value not in silent:
                self._changes.drop(key, "This upstream has no such parameter.")


def _suits_thinking(name: str, value: Any) -> bool:
    """Anthropic's rule for thinking: temperature 1, top_p from 0.95, no top_k."""
    return bool((name == "temperature" and value == 1) or (name == "top_p" and value >= 0.95))


def path(model: str, *, stream: bool) -> str:
    """Ids with `:` and ARNs with `/` are one segment."""
    if not model.strip("."):
        raise RouteError(f"The model '{model}' does not exist.")
    return f"/model/{escape(model)}/{'converse-stream' if stream else 'converse'}"

"""Vendors as rows. A vendor that speaks the OpenAI protocol differs from OpenAI only in data: how it wants its
credential, which parameters it lacks, which it knows by another name. An `if vendor == …` elsewhere is a missing
column here.

Sources: the vendors' own pages. Which endpoints there are beside
chat's is told by the vendors' references; where those are silent, the request travels, and the upstream answers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType


class Auth(Enum):
    """How a credential is sent."""

    BEARER = b"authorization: Bearer "
    KEY = b"authorization: Key "  # Maritaca
    X_API_KEY = b"x-api-key: "  # Skytells
    API_KEY = b"api-key: "  # Azure


TEXT = frozenset({"completions", "embeddings"})
IMAGES = frozenset({"images/generations", "images/edits", "images/variations"})
LISTENING = frozenset({"audio/transcriptions", "audio/translations"})
AUDIO = LISTENING | {"audio/speech"}
FILES = frozenset({"files", "batches"})
RERANK = frozenset({"rerank"})
MODERATIONS = frozenset({"moderations"})
EVERYTHING = TEXT | IMAGES | AUDIO | FILES | RERANK | MODERATIONS


@dataclass(frozen=True, slots=True)
class Row:
    protocol: str
    auth: Auth = Auth.BEARER
    path: str = "/chat/completions"
    lacks: frozenset[str] = frozenset()  # parameters it cannot take; `n` is fanned out, others are dropped and named
    takes: frozenset[str] | None = None  # all it reads, where that is known: the rest is dropped and named
    renames: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    reports_usage: bool = True  # takes stream_options.include_usage
    # Hosts that obfuscate a stream unless told not to by stream_options.include_obfuscation. Others that speak the same
    # protocol may refuse a word that they do not know.
    hides_sizes: tuple[str, ...] = ()
    text_only: bool = False  # message content must be a string: text parts are joined
    stop_list: bool = False  # `stop` must be an array
    reasoning_history: bool = True  # takes `reasoning_content` in assistant messages (E9)
    offers: frozenset[str] = TEXT  # endpoints beside chat's

    def at_host(self, host: str) -> Row:
        """The row for an upstream at this host."""
        is_vendor = any(host == own or host.endswith("." + own) for own in self.hides_sizes)
        return self if is_vendor else replace(self, hides_sizes=())


NO_COMPLETIONS = frozenset({"embeddings"})
NO_EMBEDDINGS = frozenset({"completions"})
MAX_TOKENS: Mapping[str, str] = MappingProxyType({"max_completion_tokens": "max_tokens"})

# What the embedded engine reads (antiphon.engine), of all its endpoints.
ENGINE = frozenset(
    {
        *("model", "messages", "prompt", "input", "user", "n", "best_of", "stream", "stream_options", "modalities"),
        *("temperature", "top_p", "top_k", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty"),
        *("seed", "stop", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "logit_bias"),
        *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format"),
        *("echo", "suffix", "dimensions", "encoding_format"),
    }
)

ROWS = (
    # Also any server that speaks its protocol: what it does not have, it says itself.
    Row("openai", hides_sizes=("openai.com",), offers=EVERYTHING),
    Row("crazyrouter", renames=MAX_TOKENS, offers=TEXT | IMAGES | AUDIO | RERANK),
    Row("skytells", auth=Auth.X_API_KEY, renames=MAX_TOKENS, offers=NO_COMPLETIONS),
    Row(
        "maritaca",
        auth=Auth.KEY,
        renames=MAX_TOKENS,
        text_only=True,
        stop_list=True,
        reasoning_history=False,
        offers=FILES,
    ),
    Row("scripted", offers=frozenset()),
    Row("embedded", lacks=frozenset({"audio", "reasoning_effort", "verbosity", "web_search_options"}), takes=ENGINE),
    # Its /openai/v1 endpoint; deployment URLs are not built yet.
    Row("azure", auth=Auth.API_KEY, hides_sizes=("azure.com",), offers=EVERYTHING - RERANK - MODERATIONS),
    # Its completions are at another base, https://api.deepseek.com/beta.
    Row("deepseek", renames=MAX_TOKENS, reasoning_history=False, lacks=frozenset({"n"}), offers=NO_EMBEDDINGS),
    Row(
        "groq",
        lacks=frozenset({"n", "logit_bias", "logprobs", "top_logprobs"}),
        offers=NO_COMPLETIONS | AUDIO | FILES,
    ),
    Row("llamacpp", lacks=frozenset({"n"}), offers=TEXT | RERANK | LISTENING),
    Row(
        "mistral",
        renames=MAX_TOKENS,
        reports_usage=False,
        lacks=frozenset({"logit_bias", "logprobs", "top_logprobs"}),
        # Its /fim/completions is another thing, and so are its batches.
        offers=NO_COMPLETIONS | MODERATIONS | {"audio/speech", "audio/transcriptions", "files"},
    ),
    Row("ollama", renames=MAX_TOKENS, lacks=frozenset({"n", "logit_bias"}), offers=TEXT | IMAGES),
    Row("openrouter", offers=TEXT | RERANK),
    Row("sglang", offers=TEXT | RERANK | IMAGES | LISTENING),
    Row("together", offers=EVERYTHING - MODERATIONS),
    Row("vllm", offers=TEXT | RERANK | IMAGES | AUDIO),
)

CATALOG: Mapping[str, Row] = MappingProxyType({row.protocol: row for row in ROWS})

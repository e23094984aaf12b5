"""Vendors as rows. A vendor differs from another only in data: where it is, which protocol it speaks, how it wants its
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
from typing import Final

OPENAI: Final = "openai"
MODEL: Final = b"{model}"  # in a path: the target's


class Auth(Enum):
    """How a credential is sent. The settings spell the names in small letters and with hyphens."""

    BEARER = b"authorization: Bearer "
    KEY = b"authorization: Key "  # Maritaca
    X_API_KEY = b"x-api-key: "  # Skytells
    API_KEY = b"api-key: "  # Azure
    X_GOOG_API_KEY = b"x-goog-api-key: "  # Gemini


TEXT = frozenset({"completions", "embeddings"})
IMAGES = frozenset({"images/generations", "images/edits", "images/variations"})
LISTENING = frozenset({"audio/transcriptions", "audio/translations"})
AUDIO = LISTENING | {"audio/speech"}
FILES = frozenset({"files", "batches"})
RERANK = frozenset({"rerank"})
MODERATIONS = frozenset({"moderations"})
RESPONSES = frozenset({"responses"})
EVERYTHING = TEXT | IMAGES | AUDIO | FILES | RERANK | MODERATIONS


@dataclass(frozen=True, slots=True)
class VendorRow:
    protocol: str  # its name in the settings
    url: str | None = None  # where it is, unless the settings say so; {region} and the like are those of the settings
    speaks: str = OPENAI  # which protocol: a row of `foreign_protocols`
    vendor: str | None = None  # its name in the table of models, where that is another
    auth: Auth = Auth.BEARER
    signs: str | None = None  # the service that AWS Signature 4 names, where requests may be signed
    tokens: str | None = None  # whose tokens it takes, fetched for the operator: "google" or "entra"
    path: str = "/chat/completions"  # a {model} in it is the target's; of foreign protocols the prefix alone
    models: str | None = "/models"  # where its list of models is; None: there is none
    models_headers: bytes = b""  # ready-made lines that asking for it needs
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

    @property
    def is_foreign(self) -> bool:
        return self.speaks != OPENAI

    @property
    def table_vendor(self) -> str:
        return self.vendor or self.protocol

    def at_host(self, host: str) -> VendorRow:
        """The row for an upstream at this host. Others that speak OpenAI's protocol seldom have its Responses."""
        is_vendor = any(host == own or host.endswith("." + own) for own in self.hides_sizes)
        if is_vendor or not self.hides_sizes:
            return self
        return replace(self, hides_sizes=(), offers=self.offers - RESPONSES)


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

NOTHING: frozenset[str] = frozenset()
NO_N = frozenset({"n"})
NO_N_NO_BIAS = frozenset({"n", "logit_bias"})
COHERE_MODELS = "/v1/models?page_size=1000&endpoint=chat"
AWS_NAME = "bedrock"  # in signatures
# Hosts that serve several vendors' models: {api_host} is the region's.
AWS = "https://bedrock-runtime.{region}.amazonaws.com"
MANTLE = "https://bedrock-mantle.{region}.api.aws"
VERTEX = "https://{api_host}/v1/projects/{project}/locations/{region}"

# Vendors that speak a protocol of their own (docs/upstreams.md).
FOREIGN_ROWS = (
    VendorRow(
        "anthropic",
        "https://api.anthropic.com",
        "anthropic",
        auth=Auth.X_API_KEY,
        path="",
        models="/v1/models?limit=1000",
        models_headers=b"anthropic-version: 2023-06-01\r\n",
        offers=NOTHING,
    ),
    VendorRow(
        "anthropic-vertex",
        VERTEX,
        "anthropic-vertex",
        "vertex",
        tokens="google",
        path="",
        models=None,
        offers=NOTHING,
    ),
    VendorRow(
        "anthropic-bedrock", AWS, "anthropic-bedrock", "bedrock", signs=AWS_NAME, path="", models=None, offers=NOTHING
    ),
    VendorRow(
        "anthropic-mantle",
        MANTLE + "/anthropic",
        "anthropic",
        "bedrock",
        signs="bedrock-mantle",
        path="",
        models=None,
        offers=NOTHING,
    ),
    VendorRow(
        "anthropic-azure",
        "https://{resource}.services.ai.azure.com/anthropic",
        "anthropic",
        "azure",
        auth=Auth.API_KEY,
        tokens="entra",
        path="",
        models=None,
        offers=NOTHING,
    ),
    VendorRow(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        "gemini",
        auth=Auth.X_GOOG_API_KEY,
        path="",
        models="/models?pageSize=1000",
        offers=NOTHING,
    ),
    VendorRow(
        "vertex",
        VERTEX.replace("/v1/", "/v1beta1/") + "/publishers/google",
        "gemini-vertex",
        tokens="google",
        path="",
        models=None,
        offers=NOTHING,
    ),
    VendorRow("bedrock", AWS, "bedrock", signs=AWS_NAME, path="", models=None, offers=NOTHING),
    VendorRow(
        "cohere",
        "https://api.cohere.com",
        "cohere",
        path="",
        models=COHERE_MODELS,
        offers=NOTHING,
    ),
)

# Vendors that speak the OpenAI protocol. A local server whose usual port is ours has no URL here.
OPENAI_ROWS = (
    # Also any server that speaks its protocol: what it does not have, it says itself.
    VendorRow("openai", "https://api.openai.com/v1", hides_sizes=("openai.com",), offers=EVERYTHING | RESPONSES),
    VendorRow("crazyrouter", "https://crazyrouter.com/v1", renames=MAX_TOKENS, offers=TEXT | IMAGES | AUDIO | RERANK),
    VendorRow("skytells", "https://api.skytells.ai/v1", auth=Auth.X_API_KEY, renames=MAX_TOKENS, offers=NO_COMPLETIONS),
    VendorRow(
        "maritaca",
        "https://chat.maritaca.ai/api",
        auth=Auth.KEY,
        renames=MAX_TOKENS,
        text_only=True,
        stop_list=True,
        reasoning_history=False,
        offers=FILES,
    ),
    VendorRow("scripted", offers=NOTHING),
    VendorRow(
        "embedded", lacks=frozenset({"audio", "reasoning_effort", "verbosity", "web_search_options"}), takes=ENGINE
    ),
    VendorRow(
        "azure",
        "https://{resource}.openai.azure.com/openai/v1",
        auth=Auth.API_KEY,
        tokens="entra",
        hides_sizes=("azure.com",),
        offers=(EVERYTHING | RESPONSES) - RERANK - MODERATIONS,
    ),
    # Deployment URLs, each version of which is named in every request.
    VendorRow(
        "azure-deployments",
        "https://{resource}.openai.azure.com/openai",
        vendor="azure",
        auth=Auth.API_KEY,
        tokens="entra",
        path="/deployments/{model}/chat/completions?api-version={api_version}",
        models=None,
        offers=EVERYTHING - RERANK - MODERATIONS,
    ),
    VendorRow("bedrock-mantle", MANTLE + "/v1", vendor="bedrock", signs=AWS_NAME, offers=NOTHING),
    VendorRow("cerebras", "https://api.cerebras.ai/v1", lacks=NO_N_NO_BIAS, offers=NOTHING),
    VendorRow(
        "dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", renames=MAX_TOKENS, offers=NO_COMPLETIONS
    ),
    # Its completions are at another base, https://api.deepseek.com/beta.
    VendorRow(
        "deepseek",
        "https://api.deepseek.com/v1",
        renames=MAX_TOKENS,
        reasoning_history=False,
        lacks=NO_N,
        offers=NO_EMBEDDINGS,
    ),
    VendorRow("fireworks", "https://api.fireworks.ai/inference/v1", renames=MAX_TOKENS),
    VendorRow("github", "https://models.github.ai/inference", models=None, offers=NO_COMPLETIONS),
    VendorRow(
        "groq",
        "https://api.groq.com/openai/v1",
        lacks=frozenset({"n", "logit_bias", "logprobs", "top_logprobs"}),
        offers=NO_COMPLETIONS | AUDIO | FILES,
    ),
    VendorRow("huggingface", "https://router.huggingface.co/v1", renames=MAX_TOKENS, offers=NOTHING),
    VendorRow("llamacpp", lacks=NO_N, offers=TEXT | RERANK | LISTENING),
    VendorRow("lmstudio", "http://127.0.0.1:1234/v1", renames=MAX_TOKENS, lacks=NO_N),
    VendorRow("minimax", "https://api.minimax.io/v1", lacks=NO_N_NO_BIAS, models=None, offers=NOTHING),
    VendorRow(
        "mistral",
        "https://api.mistral.ai/v1",
        renames=MAX_TOKENS,
        reports_usage=False,
        lacks=frozenset({"logit_bias", "logprobs", "top_logprobs"}),
        # Its /fim/completions is another thing, and so are its batches.
        offers=NO_COMPLETIONS | MODERATIONS | {"audio/speech", "audio/transcriptions", "files"},
    ),
    VendorRow("moonshot", "https://api.moonshot.ai/v1", renames=MAX_TOKENS, offers=NOTHING),
    VendorRow("nvidia", "https://integrate.api.nvidia.com/v1", renames=MAX_TOKENS),
    VendorRow("ollama", "http://127.0.0.1:11434/v1", renames=MAX_TOKENS, lacks=NO_N_NO_BIAS, offers=TEXT | IMAGES),
    VendorRow("openrouter", "https://openrouter.ai/api/v1", offers=TEXT | RERANK | RESPONSES),
    VendorRow(
        "perplexity",
        "https://api.perplexity.ai",
        renames=MAX_TOKENS,
        lacks=NO_N,
        models=None,
        offers=NOTHING,
    ),
    VendorRow("sglang", "http://127.0.0.1:30000/v1", offers=TEXT | RERANK | IMAGES | LISTENING),
    VendorRow("tgi", renames=MAX_TOKENS, lacks=NO_N_NO_BIAS, offers=NO_EMBEDDINGS),
    VendorRow("together", "https://api.together.xyz/v1", offers=EVERYTHING - MODERATIONS),
    VendorRow("vllm", "http://127.0.0.1:8000/v1", offers=TEXT | RERANK | IMAGES | AUDIO | RESPONSES),
    VendorRow("xai", "https://api.x.ai/v1", lacks=frozenset({"logit_bias"}), offers=NO_EMBEDDINGS),
    VendorRow(
        "zhipu",
        "https://api.z.ai/api/paas/v4",
        renames=MAX_TOKENS,
        lacks=NO_N_NO_BIAS,
        offers=NO_COMPLETIONS,
    ),
)
ROWS = (*OPENAI_ROWS, *FOREIGN_ROWS)

CATALOG: Mapping[str, VendorRow] = MappingProxyType({row.protocol: row for row in ROWS})


def base_url(row: VendorRow, *, region: str = "", **places: str) -> str:
    """The vendor's own URL at these places."""
    return (row.url or "").format(region=region, api_host=_vertex_host(region), **places)


def _vertex_host(region: str) -> str:
    if region == "global":
        return "aiplatform.googleapis.com"
    if region in ("us", "eu"):
        return f"aiplatform.{region}.rep.googleapis.com"
    return f"{region}-aiplatform.googleapis.com"

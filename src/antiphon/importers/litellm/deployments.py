"""An entry of `model_list` -> an `[[upstream]]`, which entries may share, and a target."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from antiphon.importers.litellm.cloud import aws_keys, azure_keys, vertex_keys
from antiphon.importers.litellm.config import Section
from antiphon.importers.litellm.providers import PROVIDERS, Provider, split_model
from antiphon.importers.litellm.values import UNSET, Notes, Values
from antiphon.upstreams.catalog import CATALOG

BEDROCK_WAYS: Final = re.compile(r"(?:converse|invoke|converse_like)/")
BEDROCK_REGION: Final = re.compile(r"([a-z]{2}(?:-gov)?-[a-z]+-\d)/")
SCALE: Final = 1_000_000  # the largest weight
# Said by LiteLLM and true here without a word: what is not taken is dropped and named in the receipt.
HOLDS_ANYWAY: Final = (
    "drop_params",
    "custom_llm_provider",
    "use_in_pass_through",
    "merge_reasoning_content_in_choices",
)


@dataclass
class Deployment:
    group: str  # the model that clients name
    upstream: dict[str, Any]  # keys of [[upstream]] but its name
    model: str  # as the upstream is sent it
    weight: float | None = None
    requests: int | None = None  # a minute
    tokens: int | None = None
    order: int | None = None
    info: Section = field(default_factory=lambda: Section("", {}))
    params: Section = field(default_factory=lambda: Section("", {}))
    row: Section = field(default_factory=lambda: Section("", {}))  # the whole entry


class DeploymentReader:
    """`defaults`: keys of `litellm_params` that hold where an entry says nothing else."""

    def __init__(self, values: Values, credentials: dict[str, dict[str, Any]], defaults: dict[str, Any]) -> None:
        self._values = values
        self._credentials = credentials
        self._defaults = defaults

    def read(self, number: int, entry: object) -> Deployment | None:
        row = Section(f"model_list[{number}]", entry)
        group, params = row.take("model_name"), row.section("litellm_params")
        model = self._values.text(params.take("model"), f"the model of model_list[{number}]")
        if not isinstance(group, str) or not group.strip() or model is None:
            self._values.notes.lose(f"model_list[{number}]: it has no model_name, or no litellm_params.model")
            return None
        name = f"{row.path} ({group})"
        params.values = {**self._defaults, **self._credential(params, name), **params.values}
        params.path = name
        return self._deployment(group.strip(), model, params, row)

    def _credential(self, params: Section, name: str) -> dict[str, Any]:
        named = params.take("litellm_credential_name")
        if named is None:
            return {}
        if named not in self._credentials:
            self._values.notes.lose(f"{name}: there is no credential {named!r} in credential_list")
        return self._credentials.get(named, {})

    def _deployment(self, group: str, model: str, params: Section, row: Section) -> Deployment | None:
        provider, name = split_model(model, params.take("custom_llm_provider"))
        known = PROVIDERS.get(provider or "")
        if known is None and params.values.get("api_base") and provider is not None:
            known = Provider("openai")  # LiteLLM has many providers that speak its protocol, at a URL
            self._values.notes.ask(
                f"{params.path}: the provider {provider!r} is taken for one that speaks as OpenAI does"
            )
        if not name.strip():
            self._values.notes.lose(f"{params.path}: {model!r} names no model")
            return None
        if known is None or (name == "*" and model == "*"):
            words = (
                f"no provider can be told from {model!r}"
                if provider is None
                else f"the provider {provider!r} is not known"
            )
            self._values.notes.lose(f"{params.path}: {words}")
            return None
        upstream, name = self._upstream(provider or "", known, name, params)
        self._add_common(upstream, params)
        info = row.section("model_info")
        requests, tokens = (_number(params.take(key) or info.take(key) or row.take(key)) for key in ("rpm", "tpm"))
        order = _number(params.take("order"))
        return Deployment(
            group=group,
            upstream=upstream,
            model=name,
            weight=_number(params.take("weight")),
            requests=None if requests is None else int(requests),
            tokens=None if tokens is None else int(tokens),
            order=None if order is None else int(order),
            info=info,
            params=params,
            row=row,
        )

    def _upstream(self, provider: str, known: Provider, model: str, params: Section) -> tuple[dict[str, Any], str]:
        protocol = known.protocol
        if protocol == "bedrock":
            model, region = _bedrock_model(model)
            return {"protocol": protocol, **aws_keys(params, self._values, region)}, model
        if protocol == "bedrock-mantle":
            return {"protocol": protocol, **aws_keys(params, self._values, None)}, model
        if protocol == "vertex":
            protocol = "anthropic-vertex" if model.startswith("claude") else protocol
            return {"protocol": protocol, **vertex_keys(params, self._values)}, model
        if provider in ("azure", "azure_text"):
            return azure_keys(params, self._values, known), model
        if provider == "azure_ai" and model.startswith("claude"):
            url = self._url(params, known)
            keys = {"protocol": "anthropic-azure", "url": url or f"https://{UNSET}/anthropic"}
            return {**keys, **self._key(known, params)}, model
        upstream: dict[str, Any] = {"protocol": protocol}
        url = self._url(params, known)
        if url is None and known.base and not CATALOG[protocol].url:
            url = f"https://{UNSET}/v1"
        if url is not None:
            upstream["url"] = url
        upstream.update(self._key(known, params))
        if provider == "azure_ai":
            upstream["auth"] = "api-key"
        return upstream, model

    def _url(self, params: Section, known: Provider) -> str | None:
        written = params.take("api_base") or params.take("base_url")
        if written is None and known.base and self._values.is_set(known.base):
            written = f"os.environ/{known.base}"
        if written is None:
            return known.url
        url = self._values.text(written, f"the api_base of {params.path}")
        if url is None:
            return f"https://{UNSET}/v1"
        url = url.rstrip("/").removesuffix("/chat/completions")
        if urlsplit(url).scheme not in ("http", "https"):
            self._values.notes.ask(f"{params.path}: api_base is no URL")
            return f"https://{UNSET}/v1"
        return url + known.suffix if known.suffix and not url.endswith(known.suffix) else url

    def _key(self, known: Provider, params: Section) -> dict[str, str]:
        written = params.take("api_key")
        if written is not None:
            found = self._values.secret(written, f"{known.protocol} api_key")
            return {} if found is None or _is_dummy(written) else {"credential": found}
        if known.key is None or (known.optional and not self._values.is_set(known.key)):
            return {}
        return {"credential": self._values.secret_of(known.key)}

    def _add_common(self, upstream: dict[str, Any], params: Section) -> None:
        spans = {"total": _number(params.take("timeout")), "first_byte": _number(params.take("stream_timeout"))}
        timeout = {name: value for name, value in spans.items() if value}
        if "first_byte" in timeout and timeout.get("total", math.inf) < timeout["first_byte"]:
            del timeout["first_byte"]
        if timeout:
            upstream["timeout"] = timeout
        at_once = _number(params.take("max_parallel_requests"))
        if at_once and at_once >= 1:
            upstream["max_concurrent"] = int(at_once)
        dropped = params.take("additional_drop_params")
        if isinstance(dropped, list):
            words = {word for word in dropped if isinstance(word, str) and re.fullmatch(r"[a-z][a-z0-9_.]*", word)}
            upstream["lacks"] = sorted(words - {"model", "messages"} | CATALOG[upstream["protocol"]].lacks)


def name_left(deployment: Deployment, notes: Notes) -> None:
    """What nobody has read, once everybody has."""
    path = deployment.params.path
    for key in deployment.params.left():
        if key not in HOLDS_ANYWAY:
            notes.lose(f"{path}: litellm_params.{key}")
    for key in deployment.row.left():
        notes.lose(f"{path}: {key}")


def weigh(deployments: list[Deployment]) -> list[tuple[int, int]]:
    """(weight, priority) of the deployments of one group, as LiteLLM's simple-shuffle picks them: by weight, else by
    requests a minute, else by tokens. One without a share comes after the others."""
    shares: list[float] = [1.0] * len(deployments)
    for key in ("weight", "requests", "tokens"):
        said = [getattr(deployment, key) for deployment in deployments]
        if any(said):
            shares = [float(value or 0) for value in said]
            break
    most = max(shares)
    factor = 1 if most <= SCALE and all(share == int(share) for share in shares) else 1000 / most
    orders = sorted({deployment.order or 1 for deployment in deployments})
    weighed = []
    for deployment, share in zip(deployments, shares, strict=True):
        priority = 2 * orders.index(deployment.order or 1)
        weighed.append((max(1, round(share * factor)), priority + (share <= 0)))
    return weighed


def _bedrock_model(model: str) -> tuple[str, str | None]:
    """`converse/us-west-2/anthropic.claude…` -> the bare model, and the region that stood before it."""
    model = BEDROCK_WAYS.sub("", model, count=1)
    region = BEDROCK_REGION.match(model)
    return (model, None) if region is None else (model[region.end() :], region[1])


def _is_dummy(value: object) -> bool:
    """What people write where a server wants no key, but a library wants the parameter."""
    return isinstance(value, str) and value.lower() in (
        "none",
        "dummy",
        "fake",
        "fake-key",
        "empty",
        "anything",
        "sk-none",
    )


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= 10**9 else None

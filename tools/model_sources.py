"""Reads the two wheels that the table of models is made from: genai-prices and litellm. Nothing in them is run: the one
holds Python data, which is read as a syntax tree, the other JSON."""

from __future__ import annotations

import ast
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

Document = dict[str, Any]
MILLION: Final = 1_000_000
DEAREST: Final = 1000 * MILLION  # that can be true

# Vendors by our names, in the order in which a model is sought that may be anywhere: makers first.
GENAI: Final = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "x-ai": "xai",
    "cohere": "cohere",
    "moonshotai": "moonshot",
    "zai": "zhipu",
    "minimax": "minimax",
    "perplexity": "perplexity",
    "azure": "azure",
    "aws": "bedrock",
    "groq": "groq",
    "cerebras": "cerebras",
    "together": "together",
    "fireworks": "fireworks",
    "openrouter": "openrouter",
}
LITELLM: Final = {
    "openai": "openai",
    "text-completion-openai": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "xai": "xai",
    "cohere": "cohere",
    "cohere_chat": "cohere",
    "dashscope": "dashscope",
    "moonshot": "moonshot",
    "zai": "zhipu",
    "minimax": "minimax",
    "perplexity": "perplexity",
    "azure": "azure",
    "azure_ai": "azure",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "bedrock_mantle": "bedrock",
    "groq": "groq",
    "cerebras": "cerebras",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "fireworks_ai-embedding-models": "fireworks",
    "nvidia_nim": "nvidia",
    "ollama": "ollama",
}  # and vertex_ai-…
KINDS: Final = {"chat": "chat", "responses": "chat", "completion": "completion", "embedding": "embedding"}
PLACES: Final = re.compile(r"^bedrock/|^[a-z0-9-]+/\*/|-commitment/")  # prices of one region, or by the month

GENAI_RATES: Final = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_reasoning_mtok": "reasoning",
    "input_audio_mtok": "audio_input",
    "cache_audio_read_mtok": "audio_cached",
    "output_audio_mtok": "audio_output",
    "input_image_mtok": "image_input",
    "output_image_mtok": "image_output",
}
LITELLM_RATES: Final = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cached",
    "cache_creation_input_token_cost": "cache_write",
    "cache_creation_input_token_cost_above_1hr": "cache_write_1h",
    "output_cost_per_reasoning_token": "reasoning",
    "input_cost_per_audio_token": "audio_input",
    "cache_read_input_audio_token_cost": "audio_cached",
    "output_cost_per_audio_token": "audio_output",
    "input_cost_per_image_token": "image_input",
    "output_cost_per_image_token": "image_output",
}
LITELLM_RATE: Final = re.compile(
    rf"({'|'.join(sorted(LITELLM_RATES, key=len, reverse=True))})(?:_above_(\d+)k_tokens)?(?:_(batches|flex|priority))?"
)


@dataclass(slots=True)
class Offer:
    """One model at one vendor, as one source has it."""

    vendor: str
    name: str
    price: Document | None = None  # in the shape of the table
    context: int | None = None
    row: Document = field(default_factory=dict)  # litellm's own row


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def read_genai(wheel: Path, today: str) -> list[Offer]:
    with zipfile.ZipFile(wheel) as archive:
        tree = ast.parse(archive.read("genai_prices/data.py"))
    providers = next(_value(part.value) for part in tree.body if isinstance(part, ast.AnnAssign) and part.value)
    return [
        Offer(GENAI[provider["id"]], model["id"], _genai_price(model, today), model.get("context_window"))
        for provider in providers
        if provider["id"] in GENAI
        for model in provider["models"]
    ]


def _value(node: ast.expr) -> Any:
    """Constructors become objects with the name of their class under `is`."""
    match node:
        case ast.Constant(value):
            return value
        case ast.List(items):
            return [_value(item) for item in items]
        case ast.Dict(keys, values):
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.Call(ast.Name("Decimal"), [ast.Constant(str(digits))]):
            return Decimal(digits)
        case ast.Call(ast.Attribute(_, "date"), [ast.Constant(int(y)), ast.Constant(int(m)), ast.Constant(int(d))]):
            return f"{y:04}-{m:02}-{d:02}"
        case ast.Call(ast.Name(name), _, keywords):
            return {"is": name, **{word.arg: _value(word.value) for word in keywords if word.arg}}
    return None  # times of day, patterns: not needed here


def _genai_price(model: Document, today: str) -> Document | None:
    found = model["prices"]
    since, prices, cheaper = _in_force(found if isinstance(found, list) else [{"prices": found}], today)
    price = _genai_tariff(prices)
    if "input" not in price and "output" not in price:
        return None
    variants: dict[str, list[Document]] = {}
    for variant in model.get("price_variants") or ():
        when = variant["when"]
        service = when.get("processing") or when.get("service_tier")
        if len(when) == 1 and service not in (None, "default"):
            variants.setdefault(service, []).append(variant)
    services = {service: _genai_tariff(_in_force(rows, today)[1]) for service, rows in variants.items()}
    if cheaper is not None:
        services["off_peak"] = _genai_tariff(cheaper)
    services = {service: tariff for service, tariff in sorted(services.items()) if tariff}
    return price | ({"since": since} if since else {}) | ({"services": services} if services else {})


def _in_force(rows: list[Document], today: str) -> tuple[str | None, Document, Document | None]:
    """(since when, prices, cheaper ones) of today. Where the hour decides, the dearest come first."""
    constraints = [(row.get("constraint") or {}, row["prices"]) for row in rows]
    hourly = [prices for rule, prices in constraints if rule.get("is") == "TimeOfDateConstraint"]
    dated = [(rule.get("start_date", ""), p) for rule, p in constraints if rule.get("is") != "TimeOfDateConstraint"]
    since, prices = max((row for row in dated if row[0] <= today), key=lambda row: row[0], default=("", {}))
    by_input = sorted([*hourly, prices], key=lambda prices: _base(prices.get("input_mtok")))
    return since or None, by_input[-1], by_input[0] if by_input[0] != by_input[-1] else None


def _base(price: Any) -> Decimal:
    return Decimal(price["base"] if isinstance(price, dict) else price or 0)


def _genai_tariff(prices: Document) -> Document:
    tariff: Document = {}
    tiers: dict[int, Document] = {}
    for key, kind in GENAI_RATES.items():
        price = prices.get(key)
        if isinstance(price, dict):
            for tier in price["tiers"]:
                tiers.setdefault(tier["start"], {})[kind] = micros(tier["price"] / MILLION)
            price = price["base"]
        if price is not None:
            tariff[kind] = micros(price / MILLION)
    return with_tiers(tariff, tiers)


def read_litellm(wheel: Path) -> list[Offer]:
    with zipfile.ZipFile(wheel) as archive:
        rows = json.loads(archive.read("litellm/model_prices_and_context_window_backup.json"), parse_float=Decimal)
    return list(_litellm_offers(rows))


def _litellm_offers(rows: Mapping[str, Document]) -> Iterator[Offer]:
    for name, row in rows.items():
        provider = row.get("litellm_provider", "")
        vendor = "vertex" if provider.startswith("vertex_ai") else LITELLM.get(provider)
        if vendor is None or row.get("mode") not in KINDS or PLACES.search(name):
            continue
        prefix, _, rest = name.partition("/")
        own = rest if prefix in (provider, vendor, "vertex_ai", "cohere_chat") and rest else name
        yield Offer(vendor, own, _litellm_price(row), _limit(row.get("max_input_tokens")), row)


def _limit(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _litellm_price(row: Document) -> Document | None:
    tariffs: dict[str, tuple[Document, dict[int, Document]]] = {}
    for key, value in row.items():
        match = LITELLM_RATE.fullmatch(key)
        if match and isinstance(value, int | Decimal):
            kind, above, service = LITELLM_RATES[match[1]], match[2], (match[3] or "").replace("batches", "batch")
            tariff, tiers = tariffs.setdefault(service, ({}, {}))
            (tiers.setdefault(int(above) * 1000, {}) if above else tariff)[kind] = micros(Decimal(value))
    whole = {service: with_tiers(*parts) for service, parts in sorted(tariffs.items())}
    price = whole.pop("", {})
    main = [price[kind] for kind in ("input", "output") if kind in price]
    is_free = row["litellm_provider"] == "ollama"
    # It writes 0 where it does not know, and has dollars for a thousand tokens here and there.
    if not main or (not any(main) and not is_free) or max(main) > DEAREST:
        return None
    services = {service: tariff for service, tariff in whole.items() if "input" in tariff or "output" in tariff}
    return price | ({"services": services} if services else {})


def with_tiers(tariff: Document, tiers: Mapping[int, Document]) -> Document:
    """A tier names every rate that the tariff has: what a source does not say of it stays as it was."""
    if not tiers or not tariff:
        return tariff
    told, rows = dict(tariff), []
    for above in sorted(tiers):
        told = told | tiers[above]
        rows.append({"above": above, **told})
    return {**tariff, "tiers": rows}


def micros(dollars_a_token: Decimal) -> int:
    """-> micro-dollars for a million tokens."""
    return round(dollars_a_token * MILLION * MILLION)

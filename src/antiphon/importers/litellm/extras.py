"""What stands beside models: who may ask, limits and budgets, Redis, prices."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, Final

from antiphon.importers.litellm.config import Section
from antiphon.importers.litellm.deployments import Deployment
from antiphon.importers.litellm.values import Notes, Values
from antiphon.models.names import key_of

DURATION: Final = re.compile(r"(\d+)(s|m|h|d|w|mo)")
SPANS: Final = {"1d": "day", "24h": "day", "30d": "month", "31d": "month", "1mo": "month", "4w": "month"}
PRICES: Final = (
    ("input_cost_per_token", "input"),
    ("output_cost_per_token", "output"),
    ("cache_read_input_token_cost", "cached"),
    ("cache_creation_input_token_cost", "cache_write"),
    ("output_cost_per_reasoning_token", "reasoning"),
    ("input_cost_per_audio_token", "audio_input"),
    ("output_cost_per_audio_token", "audio_output"),
)
SIZES: Final = (("max_input_tokens", "context"), ("max_output_tokens", "max_output"))
ABILITIES: Final = (
    ("supports_vision", "images"),
    ("supports_function_calling", "tools"),
    ("supports_response_schema", "json_schema"),
    ("supports_assistant_prefill", "prefill"),
)
KNOWN_INFO: Final = ("id", "mode", "db_model", "litellm_provider", "max_tokens", "description")
RICHEST: Final = Decimal(1_000_000_000)
ENFORCING: Final = ("usage-based-routing", "usage-based-routing-v2")


def budget_of(amount: object, duration: object, what: str, notes: Notes) -> dict[str, float]:
    """LiteLLM's `max_budget` and `budget_duration` -> our `budget`."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | Decimal) or not 0 < amount <= RICHEST:
        return {}
    span = "total" if not duration else SPANS.get(str(duration))
    if span is None:
        notes.lose(f"{what}: a budget for each {duration}; there are budgets for a day, a month and in total")
        return {}
    if str(duration) in ("30d", "31d", "4w"):
        notes.ask(f"{what}: its budget for each {duration} became one for each calendar month")
    return {span: float(Decimal(str(amount)).quantize(Decimal("0.000001"), ROUND_HALF_EVEN))}


def limit_row(name: str, measures: dict[str, Any], **selectors: Any) -> dict[str, Any] | None:
    measures = {key: value for key, value in measures.items() if value}
    return {"name": name, **selectors, **measures} if measures else None


def measures_of(row: Callable[[str], Any], what: str, notes: Notes) -> dict[str, Any]:
    """Of a key, a team, a user or a budget, whose columns have the same names."""
    measures: dict[str, Any] = {}
    for theirs, ours in (
        ("rpm_limit", "requests_per_minute"),
        ("tpm_limit", "tokens_per_minute"),
        ("max_parallel_requests", "concurrent"),
    ):
        value = row(theirs)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1_000_000:
            measures[ours] = value
        elif isinstance(value, int) and value > 1_000_000 and ours != "concurrent":
            measures[ours] = min(value, 1_000_000_000)
    budget = budget_of(row("max_budget"), row("budget_duration"), what, notes)
    return measures | ({"budget": budget} if budget else {})


def read_keys(general: Section, values: Values) -> list[dict[str, Any]]:
    master = general.take("master_key")
    secret = values.secret(master, "master_key") if master is not None else None
    if secret is None:
        return []
    values.notes.ask("the master key is a client's key here, without limits; nobody administers the gateway with it")
    return [{"name": "master", "secret": secret}]


def read_limits(general: Section, litellm: Section, values: Values) -> list[dict[str, Any]]:
    rows = [
        limit_row("all turns at once", {"concurrent": general.take("global_max_parallel_requests")}),
        limit_row(
            "all spending",
            {
                "budget": budget_of(
                    litellm.take("max_budget"), litellm.take("budget_duration"), "litellm_settings", values.notes
                )
            },
        ),
    ]
    return [row for row in rows if row is not None]


def group_limits(deployments: list[Deployment], router: Section, notes: Notes) -> list[dict[str, Any]]:
    """Of a deployment, rpm and tpm are shares. They are limits where LiteLLM was told to hold to them."""
    checks = router.take("optional_pre_call_checks")
    strategy = router.take("routing_strategy") or "simple-shuffle"
    is_limit = strategy in ENFORCING or (isinstance(checks, list) and "enforce_model_rate_limits" in checks)
    if strategy != "simple-shuffle":
        notes.lose(f"router_settings.routing_strategy {strategy!r}: targets are picked by weight")
    rows = []
    for group in dict.fromkeys(deployment.group for deployment in deployments) if is_limit else ():
        members = [deployment for deployment in deployments if deployment.group == group]
        sums = {
            ours: sum(getattr(member, key) or 0 for member in members)
            for key, ours in (("requests", "requests_per_minute"), ("tokens", "tokens_per_minute"))
            if all(getattr(member, key) for member in members)
        }
        row = limit_row(f"model {group}", sums, models=[group])
        rows += [row] if row is not None else []
    return rows


def read_counters(router: Section, litellm: Section, values: Values) -> dict[str, Any]:
    """Redis, by which machines share limits."""
    cache = litellm.section("cache_params")
    for section in (router, cache):
        url, host = section.take("redis_url") or section.take("url"), section.take("redis_host") or section.take("host")
        port, password = section.take("redis_port") or section.take("port"), None
        password = section.take("redis_password") or section.take("password")
        if url is not None:
            return {"counters": values.secret(url, "redis url")}
        if host is None:
            continue
        address = (
            f"redis://{values.text(host, 'the host of Redis') or '127.0.0.1'}:{values.text(port, 'its port') or 6379}"
        )
        if password is None:
            return {"counters": address}
        values.notes.ask(f'Redis at {address} has a password: [accounts] counters = "env:NAME", a URL with it')
    return {}


def read_models(deployments: list[Deployment], is_known: Callable[[str], bool], notes: Notes) -> list[dict[str, Any]]:
    """Prices, sizes and abilities that the file states -> `[[model]]`, by the name that the upstream is sent."""
    rows: dict[str, dict[str, Any]] = {}
    for deployment in deployments:
        row = _model_row(deployment, is_known, notes)
        if len(row) == 1 or "*" in deployment.model:
            continue
        key = key_of(deployment.model) or deployment.model
        if key in rows and {**rows[key], "name": ""} != {**row, "name": ""}:
            notes.lose(f"{deployment.params.path}: other facts of {deployment.model!r} than an entry before states")
        rows.setdefault(key, row)
    return list(rows.values())


def _model_row(deployment: Deployment, is_known: Callable[[str], bool], notes: Notes) -> dict[str, Any]:
    info, params = deployment.info, deployment.params
    row: dict[str, Any] = {"name": deployment.model}
    base = info.take("base_model") or params.take("base_model")
    if isinstance(base, str):
        bare = base.rpartition("/")[2]
        if is_known(bare):
            row["like"] = bare
        else:
            notes.lose(f"{params.path}: base_model {base!r}, which the table of models does not know")
    price = {ours: cost for theirs, ours in PRICES if (cost := _per_million(_either(info, params, theirs))) is not None}
    if "input" in price:
        row["price"] = price
    for theirs, ours in SIZES:
        size = info.take(theirs)
        if isinstance(size, int) and not isinstance(size, bool) and 0 < size <= 1_000_000_000:
            row[ours] = size
    if row.get("context", row.get("max_output", 0)) < row.get("max_output", 0):
        row["context"] = row["max_output"]
    for theirs, ours in ABILITIES:
        if isinstance(said := info.take(theirs), bool):
            row[ours] = said
    for key in info.left():
        if key not in KNOWN_INFO:
            notes.lose(f"{params.path}: model_info.{key}")
    return row


def _either(info: Section, params: Section, key: str) -> Any:
    first, second = info.take(key), params.take(key)
    return first if first is not None else second


def _per_million(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        cost = Decimal(str(value)) * 1_000_000
    except ArithmeticError:
        return None
    if not cost.is_finite() or not 0 <= cost <= 1_000_000:
        return None
    return float(cost.quantize(Decimal("0.000001"), ROUND_HALF_EVEN))

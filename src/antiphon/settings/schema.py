"""Which keys exist and what each may hold, as data: `walk` reads documents by it, `environment` names variables by it.

A key that stands here and in `model` exists; everything else is a fault. Defaults stand in `model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from antiphon.flow.relayed import RELAYED
from antiphon.settings import model
from antiphon.settings.address_types import (
    ADDRESS,
    AUTHORITIES,
    CONTROL,
    FILE,
    FOLDER,
    HEADER,
    LOG,
    MODEL_FILE,
    ORIGIN,
    URL,
)
from antiphon.settings.limits import COUNTERS, LABELS, MONEY, TIME_ZONE, check_limit
from antiphon.settings.listeners import FILE_MODE, GROUP, NETWORK, check_tls
from antiphon.settings.model import LimitSettings, ModelSettings, ServerSettings, Settings
from antiphon.settings.value_types import (
    DOLLARS,
    NAME,
    PARAMETER_NAME,
    PATTERN,
    PLACE_NAME,
    PROCESSES,
    PROTOCOL,
    SECRET,
    STORE,
    SWITCH,
    TARGET_MODEL,
    WORKERS,
    ValueType,
    flag,
    one_of,
    one_of_numbers,
    seconds,
    switch_or,
    whole,
)


@dataclass(frozen=True, slots=True)
class Many:
    """An array of plain values."""

    item: ValueType


@dataclass(frozen=True, slots=True)
class TableSchema:
    build: Callable[..., object]
    keys: Mapping[str, Node]
    required: tuple[str, ...] = ()
    # A word written in place of the table -> the one key that it stands for: prompt = "race".
    short: Mapping[str, str] = field(default_factory=dict)
    check: Callable[..., None] | None = None  # of what was built


@dataclass(frozen=True, slots=True)
class Rows:
    """An array of tables; `label` is the key by which users know a row."""

    row: TableSchema
    label: str
    least: int = 0


Node = ValueType | Many | TableSchema | Rows

TOKENS = whole(1, 1_000_000_000)
DIALECT = one_of("openai", "crazyrouter", "skytells", "maritaca")
MODE = one_of("filter", "annotate")
THRESHOLD = one_of("low", "medium", "high", "off")

TLS = TableSchema(
    model.TlsSettings,
    {"cert": FILE, "key": FILE, "client_ca": AUTHORITIES, "client_auth": one_of("required", "optional")},
    required=("cert", "key"),
    check=check_tls,
)

SERVER = TableSchema(
    model.ServerSettings,
    {
        "listen": ADDRESS,
        "control": CONTROL,
        "admin_secret": SECRET,
        "workers": WORKERS,
        "dialect": DIALECT,
        "auth": SWITCH,
        "strict": SWITCH,
        "max_body": whole(1),
        "max_upload": whole(1),
        "max_body_memory": whole(1),
        "max_json_depth": whole(8, 500),
        "max_json_values": whole(1000),
        "max_connections": whole(1),
        "max_client_connections": whole(0),
        "max_client_requests": whole(0),
        "max_key_requests": whole(0),
        "tls": TLS,
        "trusted_proxies": Many(NETWORK),
        "forwarded_header": one_of("x-forwarded-for", "forwarded"),
        "proxy_protocol": SWITCH,
        "socket_mode": FILE_MODE,
        "socket_group": GROUP,
        "receipts": SWITCH,
        "drain": seconds(zero=True),
        "lame_duck": seconds(zero=True),
        "keepalive": seconds(),
        "header_timeout": seconds(),
        "body_timeout": seconds(),
        "min_body_rate": whole(0),
        "request_timeout": seconds(),
        "write_timeout": seconds(),
        "keepalive_comment": seconds(),
        "cors": Many(ORIGIN),
        "access_log": LOG,
        "error_log": LOG,
        "maritaca_object": one_of("chat_completion", "chat.completion"),
        "built_in_tools": one_of("refuse", "drop"),
    },
)

TIMEOUT = TableSchema(
    model.TimeoutSettings,
    {"connect": seconds(), "first_byte": seconds(), "idle": seconds(), "total": seconds()},
)

UPSTREAM = TableSchema(
    model.UpstreamSettings,
    {
        "name": NAME,
        "protocol": PROTOCOL,
        "url": URL,
        "credential": SECRET,
        "auth": one_of("bearer", "key", "x-api-key", "api-key", "x-goog-api-key"),
        "speaks": one_of("openai", "anthropic", "gemini", "bedrock", "cohere"),
        "region": PLACE_NAME,
        "project": PLACE_NAME,
        "resource": PLACE_NAME,
        "api_version": PLACE_NAME,
        "access_key_id": SECRET,
        "secret_access_key": SECRET,
        "session_token": SECRET,
        "profile": NAME,
        "service_account": FILE,
        "tenant_id": PLACE_NAME,
        "client_id": PLACE_NAME,
        "client_secret": SECRET,
        "token_url": URL,
        "timeout": TIMEOUT,
        "think": flag("split", "off"),
        "forward_headers": Many(HEADER),
        "ca": AUTHORITIES,
        "lacks": Many(PARAMETER_NAME),
        "offers": Many(one_of("completions", "embeddings", "responses", *RELAYED)),
        "max_idle": whole(0, 65536),
        "max_concurrent": whole(1, 1_000_000),
        "queue": whole(0, 1_000_000),
        "queue_timeout": seconds(),
        "proxy": SWITCH,
        "list_models": SWITCH,
    },
    required=("name", "protocol"),
)

TARGET = TableSchema(
    model.TargetSettings,
    {"upstream": NAME, "model": TARGET_MODEL, "weight": whole(1, 1_000_000), "priority": whole(0, 1_000_000)},
    required=("upstream",),
)


def _category(name: str, *, graded: bool) -> TableSchema:
    """Graded categories have a severity and so a threshold; the others were detected or not."""

    def build(**values: str) -> model.CategorySettings:
        return model.CategorySettings(name, **values)

    words = {"filter": "mode", "annotate": "mode"}
    if graded:
        thresholds = dict.fromkeys(("low", "medium", "high", "off"), "threshold")
        return TableSchema(build, {"threshold": THRESHOLD, "mode": MODE}, short=thresholds | words)
    return TableSchema(build, {"mode": one_of("filter", "annotate", "off")}, short=words | {"off": "mode"})


GRADED: dict[str, Node] = {name: _category(name, graded=True) for name in ("hate", "self_harm", "sexual", "violence")}
SIDE: dict[str, Node] = {"threshold": THRESHOLD, "mode": MODE, **GRADED}


def _build_side(**values: object) -> model.SideSettings:
    plain = {name: value for name, value in values.items() if not isinstance(value, model.CategorySettings)}
    categories = tuple(value for value in values.values() if isinstance(value, model.CategorySettings))
    return model.SideSettings(**plain, categories=categories)  # type: ignore[arg-type]


PROMPT = TableSchema(
    _build_side,
    {"timing": one_of("gate", "race"), **SIDE, "jailbreak": _category("jailbreak", graded=False)},
    short={"gate": "timing", "race": "timing"},
)

ANSWER = TableSchema(
    _build_side,
    {
        **SIDE,
        "protected_material_text": _category("protected_material_text", graded=False),
        "protected_material_code": _category("protected_material_code", graded=False),
    },
)

EVALUATOR = TableSchema(
    model.EvaluatorSettings,
    {
        "kind": one_of("embedded", "openai", "azure", "chat", "rules", "protected", "http"),
        "name": NAME,
        "url": URL,
        "route": NAME,
        "credential": SECRET,
        "timeout": seconds(),
        "model": NAME,
        "index": Many(FILE),
        "words": Many(NAME),
        "patterns": Many(PATTERN),
        "file": FILE,
        "lists": Many(one_of("personal", "secrets")),
        "mode": MODE,
        "stages": Many(one_of("prompt", "answer")),
        "routes": Many(NAME),
        "keys": Many(NAME),
    },
    required=("kind",),
)


def _build_safety(evaluator: tuple[model.EvaluatorSettings, ...] = (), **values: object) -> model.SafetySettings:
    return model.SafetySettings(**values, evaluators=evaluator)  # type: ignore[arg-type]


POLICY: dict[str, Node] = {
    "enabled": SWITCH,
    "annotations": switch_or("every"),
    "mode": MODE,
    "preset": one_of("strict", "enterprise", "child_safe", "moderate", "minimal", "annotate-only", "annotate_only"),
    "threshold": THRESHOLD,
    "prompt": PROMPT,
    "answer": ANSWER,
    "hold": TableSchema(
        model.HoldSettings,
        {"tokens": whole(1, 100_000), "ms": whole(1, 600_000), "mode": one_of("full", "adaptive")},
    ),
    "stream": one_of("hold", "async"),
    "on_failure": one_of("open", "closed"),
    "block_status": one_of_numbers(400, 451),
    "judge_tools": SWITCH,
    "max_text": whole(1),
    "too_long": one_of("refuse", "unjudged"),
}

SAFETY = TableSchema(
    _build_safety,
    {**POLICY, "evaluator": Rows(EVALUATOR, "kind"), "processes": PROCESSES, "queue_ms": whole(0, 600_000)},
)

ROUTE = TableSchema(
    model.RouteSettings,
    {
        "model": NAME,
        "targets": Rows(TARGET, "upstream", least=1),
        "safety": TableSchema(model.PolicySettings, {**POLICY, "override": SWITCH}),
    },
    required=("model", "targets"),
)

PER_MINUTE = whole(1, 1_000_000_000)

MEASURES: dict[str, Node] = {
    "requests_per_minute": PER_MINUTE,
    "input_tokens_per_minute": PER_MINUTE,
    "output_tokens_per_minute": PER_MINUTE,
    "tokens_per_minute": PER_MINUTE,
    "concurrent": whole(1, 1_000_000),
    "budget": TableSchema(model.BudgetSettings, {"day": MONEY, "month": MONEY, "total": MONEY}),
}

LIMIT = TableSchema(
    model.LimitSettings,
    {
        "name": NAME,
        "keys": Many(NAME),
        "teams": Many(NAME),
        "labels": LABELS,
        "models": Many(NAME),
        "per": Many(one_of("key", "team", "model")),
        **MEASURES,
    },
    required=("name",),
    check=check_limit,
)

KEY = TableSchema(
    model.KeySettings,
    {
        "name": NAME,
        "secret": SECRET,
        "dialect": DIALECT,
        "strict": SWITCH,
        "receipts": SWITCH,
        "max_requests": whole(0),
        "safety": TableSchema(model.PolicySettings, POLICY),
        "team": NAME,
        "labels": LABELS,
        "models": Many(NAME),
        "limits": TableSchema(model.MeasureSettings, MEASURES, check=check_limit),
    },
    required=("name", "secret"),
)

ENGINE = TableSchema(
    model.EngineSettings,
    {
        "enabled": SWITCH,
        "model": MODEL_FILE,
        "name": NAME,
        "threads": whole(1, 1024),
        "context": whole(256, 16_777_216),
        "slots": whole(1, 1024),
        "queue": whole(0, 1_000_000),
        "queue_timeout": seconds(),
        "hang_after": seconds(least=1.0),  # one batch of a prompt may well take a fraction of that
    },
)

PRICE = TableSchema(
    model.PriceSettings,
    {
        "input": DOLLARS,
        "output": DOLLARS,
        "cached": DOLLARS,
        "cache_write": DOLLARS,
        "cache_write_1h": DOLLARS,
        "reasoning": DOLLARS,
        "audio_input": DOLLARS,
        "audio_cached": DOLLARS,
        "audio_output": DOLLARS,
        "image_input": DOLLARS,
        "image_output": DOLLARS,
    },
    required=("input",),
)

MODEL = TableSchema(
    model.ModelSettings,
    {
        "name": NAME,
        "like": NAME,
        "context": TOKENS,
        "max_output": TOKENS,
        "price": PRICE,
        "sampling": SWITCH,
        "prefill": SWITCH,
        "tools": SWITCH,
        "forced_tools": SWITCH,
        "images": SWITCH,
        "json_schema": SWITCH,
        "mid_system": SWITCH,
        "thinking": one_of("none", "budget", "adaptive", "always", "level"),
        "efforts": Many(one_of("none", "minimal", "low", "medium", "high", "xhigh", "max")),
        "least_budget": TOKENS,
        "most_budget": TOKENS,
        "max_tokens_name": one_of("max_tokens", "max_completion_tokens"),
    },
    required=("name",),
)

DAYS, BYTES = whole(0, 36_600), whole(0, 1 << 60)

KEEP = TableSchema(
    model.KeepSettings,
    {
        "entry_days": DAYS,
        "entry_bytes": BYTES,
        "hour_days": DAYS,
        "day_days": DAYS,
        "audit_days": DAYS,
        "completion_days": DAYS,
        "completion_bytes": BYTES,
    },
)

ACCOUNTS = TableSchema(
    model.AccountsSettings,
    {
        "enabled": SWITCH,
        "store": STORE,
        "state": FOLDER,
        "keys_max_age": seconds(least=5.0),
        "keep": KEEP,
        "completions": SWITCH,
        "counters": COUNTERS,
        "on_counters_failure": one_of("closed", "open"),
        "reserve_output": whole(1, 1_000_000),
        "on_limit": one_of("end", "run"),
        "time_zone": TIME_ZONE,
    },
)


def _build_settings(
    server: model.ServerSettings | None = None,
    upstream: tuple[model.UpstreamSettings, ...] = (),
    route: tuple[model.RouteSettings, ...] = (),
    key: tuple[model.KeySettings, ...] = (),
    model: tuple[ModelSettings, ...] = (),
    limit: tuple[LimitSettings, ...] = (),
    **parts: object,
) -> Settings:
    return Settings(server or ServerSettings(), upstream, route, key, models=model, limits=limit, **parts)  # type: ignore[arg-type]


ROOT = TableSchema(
    _build_settings,
    {
        "server": SERVER,
        "upstream": Rows(UPSTREAM, "name"),
        "route": Rows(ROUTE, "model"),
        "key": Rows(KEY, "name"),
        "safety": SAFETY,
        "engine": ENGINE,
        "accounts": ACCOUNTS,
        "model": Rows(MODEL, "name"),
        "limit": Rows(LIMIT, "name"),
    },
)

# What people who come from elsewhere write -> our key.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "api_base": ("url",),
    "api_key": ("credential", "secret"),
    "apikey": ("credential", "secret"),
    "base_url": ("url",),
    "bind": ("listen",),
    "endpoint": ("url",),
    "host": ("listen",),
    "id": ("name",),
    "key": ("credential", "secret"),
    "password": ("credential", "secret"),
    "port": ("listen",),
    "provider": ("protocol", "upstream", "upstreams"),
    "token": ("credential", "secret"),
    "type": ("protocol", "kind"),
}

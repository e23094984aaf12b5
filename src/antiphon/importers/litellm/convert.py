"""A whole LiteLLM configuration -> our settings file as text, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from antiphon.importers.litellm.config import Section
from antiphon.importers.litellm.deployments import Deployment, DeploymentReader, name_left
from antiphon.importers.litellm.extras import group_limits, read_counters, read_keys, read_limits, read_models
from antiphon.importers.litellm.routes import Draft, add_aliases, add_fallbacks, add_routes
from antiphon.importers.litellm.toml import write_comment, write_route, write_table
from antiphon.importers.litellm.values import Notes, Values
from antiphon.models.table import find_packaged

# What needs no counterpart: it is so here, or it is about LiteLLM's own inside.
NO_MATTER: Final = frozenset(
    {
        *("set_verbose", "json_logs", "telemetry", "drop_params", "modify_params", "store_model_in_db", "debug_level"),
        *(
            "enable_pre_call_checks",
            "allowed_fails",
            "cooldown_time",
            "num_retries",
            "retry_after",
            "proxy_batch_write_at",
        ),
        *(
            "background_health_checks",
            "health_check_interval",
            "database_connection_pool_limit",
            "allowed_fails_policy",
        ),
        *("database_connection_timeout", "disable_spend_logs", "use_redis_transaction_buffer", "suppress_debug_info"),
        *("allow_requests_on_db_unavailable", "retry_policy", "set_debug", "disable_cooldowns", "salt_key"),
    }
)
HEAD: Final = "Made by `antiphon import litellm`. Check it with `antiphon check`."


@dataclass
class Converted:
    notes: Notes
    secrets: dict[str, str]  # files to write, relative to the settings file
    upstreams: list[dict[str, Any]]
    routes: dict[str, list[dict[str, Any]]]
    keys: list[dict[str, Any]]
    limits: list[dict[str, Any]]
    models: list[dict[str, Any]]
    accounts: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        parts = [write_comment(HEAD)]
        parts += _comments("To do:", self.notes.todo) + _comments("Not carried over:", self.notes.lost)
        server: dict[str, Any] = {"listen": "127.0.0.1:4000"}
        if self.keys or "store" in self.accounts:
            server["auth"] = True
        parts.append(write_table("server", server))
        if self.accounts:
            parts.append(write_table("accounts", self.accounts))
        parts += [write_table("[upstream]", row) for row in self.upstreams]
        parts += [write_route(model, targets) for model, targets in self.routes.items()]
        parts += [write_table("[model]", row) for row in self.models]
        parts += [write_table("[key]", row) for row in self.keys]
        parts += [write_table("[limit]", row) for row in self.limits]
        return "\n\n".join(parts) + "\n"


def convert(config: Section, environ: Mapping[str, str], folder: str | None) -> Converted:
    """`folder`: where secrets go that stand in the file."""
    values = Values(environ, config.section("environment_variables").values, folder)
    general, litellm = config.section("general_settings"), config.section("litellm_settings")
    router = config.section("router_settings")
    deployments = _deployments(config, general, litellm, router, values)
    draft = Draft()
    add_routes(draft, deployments, values.notes)
    _add_more_routes(draft, litellm, router, values.notes)
    limits = read_limits(general, litellm, values) + group_limits(deployments, router, values.notes)
    made = Converted(
        values.notes,
        values.secrets,
        draft.upstreams,
        draft.routes,
        read_keys(general, values),
        limits,
        read_models(deployments, _is_known, values.notes),
        {name: value for name, value in read_counters(router, litellm, values).items() if value},
    )
    for deployment in deployments:
        name_left(deployment, values.notes)
    _tell_of_keys(litellm, values.notes)
    if general.take("database_url") is not None:
        values.notes.ask("keys, teams and spend are in LiteLLM's database: `antiphon import litellm … --database URL`")
    _name_left((general, litellm, router, config), values.notes)
    return made


def _deployments(
    config: Section, general: Section, litellm: Section, router: Section, values: Values
) -> list[Deployment]:
    total = router.take("timeout") or litellm.take("request_timeout")
    at_once = router.take("default_max_parallel_requests") or general.take("max_parallel_requests")
    defaults = {"timeout": total, "stream_timeout": router.take("stream_timeout"), "max_parallel_requests": at_once}
    credentials = {
        str(row.get("credential_name")): row["credential_values"]
        for row in config.take("credential_list") or []
        if isinstance(row, dict) and isinstance(row.get("credential_values"), dict)
    }
    reader = DeploymentReader(values, credentials, {key: value for key, value in defaults.items() if value is not None})
    listed = config.take("model_list")
    found = [reader.read(number, entry) for number, entry in enumerate(listed if isinstance(listed, list) else [])]
    return [deployment for deployment in found if deployment is not None]


def _add_more_routes(draft: Draft, litellm: Section, router: Section, notes: Notes) -> None:
    sections = (router, litellm)
    fallbacks: list[Any] = []
    default: list[Any] = []
    for section in sections:
        aliases = section.take("model_group_alias")
        add_aliases(draft, aliases if isinstance(aliases, dict) else {}, notes)
        for key, into in (("fallbacks", fallbacks), ("default_fallbacks", default)):
            said = section.take(key)
            into += said if isinstance(said, list) else []
        for key, when in (
            ("context_window_fallbacks", "a prompt is too long for the first"),
            ("content_policy_fallbacks", "the first refuses a prompt"),
        ):
            if section.take(key):
                notes.lose(f"{section.path}.{key}: another model when {when}")
    if fallbacks or default:
        add_fallbacks(draft, fallbacks, default, notes)


def _tell_of_keys(litellm: Section, notes: Notes) -> None:
    """Defaults and bounds of keys that LiteLLM's API makes: here they are options of the command that makes one."""
    options = {"rpm_limit": "--limit requests_per_minute=", "tpm_limit": "--limit tokens_per_minute="}
    spans = {"1d": "day", "24h": "day", "30d": "month", "1mo": "month"}
    for key in ("default_key_generate_params", "upperbound_key_generate_params"):
        said = litellm.section(key)
        words = [f"{option}{said.values[name]}" for name, option in options.items() if said.values.get(name)]
        if said.values.get("max_budget"):
            span = spans.get(str(said.values.get("budget_duration")), "total")
            words.append(f"--budget {span}={said.values['max_budget']}")
        if said.values.get("duration"):
            words.append(f"--expires {said.values['duration']}")
        words += [f"--model {model}" for model in said.values.get("models") or []]
        if said.values:
            notes.ask(f"{key}: say so for each key: antiphon key create --name NAME {' '.join(words)}".rstrip())


def _name_left(sections: tuple[Section, ...], notes: Notes) -> None:
    for section in sections:
        for key in section.left():
            if key not in NO_MATTER:
                notes.lose(f"{section.path}.{key}" if section.path else key)


def _is_known(model: str) -> bool:
    found = find_packaged(model)
    return found is not None and found.is_exact


def _comments(head: str, lines: list[str]) -> list[str]:
    return ["\n".join([write_comment(head), *(write_comment(f"- {line}") for line in lines)])] if lines else []

"""LiteLLM's PostgreSQL: its keys into our store, with the digests that it keeps; limits of teams and users into the
settings; spend by day, key and model into the ledger. It is read in one read-only transaction and never changed.

LiteLLM keeps the SHA-256 of a key in hexadecimal digits, as we keep the SHA-256, so clients notice nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from antiphon.accounts.entry import SUMMARY, LedgerEntry, Record, clean_text
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.keys import Key, KeySecret, new_key_id
from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.contract import AuditNote, NameTaken, Store
from antiphon.accounts.stores.urls import store_for
from antiphon.importers.litellm.config import ImportFault
from antiphon.importers.litellm.convert import Converted
from antiphon.importers.litellm.extras import limit_row, measures_of
from antiphon.importers.litellm.values import Notes

DIGEST: Final = re.compile(r"[0-9a-f]{64}")
ALL_MODELS: Final = ("all-proxy-models", "*")
TEAM_MODELS: Final = "all-team-models"
PRISMA: Final = ("connection_limit", "pool_timeout", "pgbouncer", "connect_timeout", "socket_timeout", "sslaccept")
PATIENCE: Final = 60.0  # seconds for one statement
PAGE: Final = 500
MICRO: Final = Decimal("0.000001")
TABLES: Final = "select table_name from information_schema.tables where table_schema = any (current_schemas(false))"
KEYS: Final = """
    select token.*, budget.max_budget as b_max_budget, budget.budget_duration as b_budget_duration,
        budget.rpm_limit as b_rpm_limit, budget.tpm_limit as b_tpm_limit,
        budget.max_parallel_requests as b_max_parallel_requests
    from "LiteLLM_VerificationToken" token
    left join "LiteLLM_BudgetTable" budget on budget.budget_id = token.budget_id
    order by token.token
"""
TEAMS: Final = 'select * from "LiteLLM_TeamTable" order by team_id'
USERS: Final = 'select * from "LiteLLM_UserTable" order by user_id'
OLD_DIGESTS: Final = 'select token, active_token_id, revoke_at from "LiteLLM_DeprecatedVerificationToken"'
SPEND: Final = """
    select date, api_key, coalesce(model_group, model, '') as model, coalesce(custom_llm_provider, '') as upstream,
        sum(prompt_tokens)::bigint as input, sum(completion_tokens)::bigint as output,
        sum(cache_read_input_tokens)::bigint as cached, sum(cache_creation_input_tokens)::bigint as cache_write,
        sum(spend) as spend, sum(api_requests)::bigint as requests
    from "LiteLLM_DailyUserSpend" where date < $1
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
"""
OTHERS: Final = (
    ("LiteLLM_ProxyModelTable", "models that were added in LiteLLM's interface; their credentials are encrypted there"),
    ("LiteLLM_OrganizationTable", "organizations and their budgets"),
    ("LiteLLM_EndUserTable", "end users and their budgets"),
    ("LiteLLM_TagTable", "tags and their budgets"),
)
Row = Any  # asyncpg's record: by name


@dataclass
class Found:
    """What LiteLLM's database holds."""

    keys: Sequence[Row] = ()
    teams: dict[str, Row] = field(default_factory=dict)
    users: dict[str, Row] = field(default_factory=dict)
    old: dict[str, list[Row]] = field(default_factory=dict)  # digest of a key -> digests that it had before
    spend: Sequence[Row] = ()


async def bring(url: str, store_url: str, made: Converted) -> list[str]:
    """-> sentences about what was brought. Raises ImportFault, StoreError."""
    found = await _read(url, made.notes)
    made.accounts.setdefault("store", store_url)
    made.limits += _limits(found, made.notes)
    store = store_for(store_url)
    try:
        await store.open()
        keys, names = await _bring_keys(store, found, made.notes)
        days = await _bring_spend(store, found, names)
    finally:
        await store.close()
    return [f"{keys} of {len(found.keys)} keys were brought; they go on working", f"{days} sums of spend were brought"]


async def _read(url: str, notes: Notes) -> Found:
    try:
        connection = await asyncpg.connect(_for_asyncpg(url), timeout=PATIENCE, command_timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise ImportFault(f"LiteLLM's database cannot be reached: {type(error).__name__}") from None
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return await _read_all(connection, notes)
    except (asyncpg.PostgresError, TimeoutError) as error:
        raise ImportFault(f"LiteLLM's database cannot be read: {error or 'it is too slow'}") from None
    finally:
        await connection.close()


def _for_asyncpg(url: str) -> str:
    """Without what Prisma, LiteLLM's client, reads in its URLs. ValueError: this is no URL."""
    parts = urlsplit(url)
    pairs = [("search_path", value) if name == "schema" else (name, value) for name, value in parse_qsl(parts.query)]
    return urlunsplit(parts._replace(query=urlencode([pair for pair in pairs if pair[0] not in PRISMA])))


async def _read_all(connection: Any, notes: Notes) -> Found:
    tables = {row["table_name"] for row in await connection.fetch(TABLES)}
    if "LiteLLM_VerificationToken" not in tables:
        raise ImportFault("this is not LiteLLM's database: it has no table LiteLLM_VerificationToken")
    found = Found(keys=await connection.fetch(KEYS))
    if "LiteLLM_TeamTable" in tables:
        found.teams = {row["team_id"]: row for row in await connection.fetch(TEAMS)}
    if "LiteLLM_UserTable" in tables:
        found.users = {row["user_id"]: row for row in await connection.fetch(USERS)}
    if "LiteLLM_DeprecatedVerificationToken" in tables:
        for row in await connection.fetch(OLD_DIGESTS):
            found.old.setdefault(row["active_token_id"], []).append(row)
    if "LiteLLM_DailyUserSpend" in tables:
        found.spend = await connection.fetch(SPEND, datetime.now(UTC).date().isoformat())
    for table, what in OTHERS:
        if table in tables and (count := await connection.fetchval(f'select count(*) from "{table}"')):  # noqa: S608
            notes.lose(f"{count} rows of {table}: {what}")
    return found


# Limits of teams and users


def _limits(found: Found, notes: Notes) -> list[dict[str, Any]]:
    rows = []
    for team in found.teams.values():
        name = _team_name(team)
        measures = measures_of(team.get, f"the team {name!r}", notes)
        rows.append(limit_row(f"team {name}", measures, teams=[name]))
    for user in found.users.values():
        measures = measures_of(user.get, f"the user {user['user_id']!r}", notes)
        rows.append(limit_row(f"user {user['user_id']}", measures, labels={"user": user["user_id"]}))
    if found.teams or found.users:
        notes.ask("budgets of teams and users begin anew with their window: what was spent in it is in the ledger")
    return [row for row in rows if row is not None]


def _team_name(team: Row) -> str:
    return clean_text(str(team["team_alias"] or team["team_id"]).strip()) or str(team["team_id"])


# Keys


async def _bring_keys(store: Store, found: Found, notes: Notes) -> tuple[int, dict[str, str]]:
    """-> how many are new; LiteLLM's digest -> our id"""
    now, count, ids = wall_clock(), 0, {}
    for row in found.keys:
        token = row["token"]
        name = _key_name(row)
        expires = _micros(row["expires"])
        if not DIGEST.fullmatch(token):
            notes.lose(f"the key {name!r}: LiteLLM keeps it in clear or in another form")
        elif row["blocked"] or (expires is not None and expires <= now):
            notes.lose(f"the key {name!r}: it is {'blocked' if row['blocked'] else 'expired'}")
        elif (known := await store.keys.find(bytes.fromhex(token))) is not None:
            ids[token] = known.key.id
        else:
            key = _key(row, name, expires, found, notes, now)
            ids[token] = await _add(store, key, row, found.old.get(token, []), now)
            count += 1
    return count, ids


def _key(row: Row, name: str, expires: int | None, found: Found, notes: Notes, now: int) -> Key:
    user, team = found.users.get(row["user_id"] or ""), found.teams.get(row["team_id"] or "")
    what = f"the key {name!r}"
    measures = measures_of(lambda column: _own_or_budget(row, column), what, notes)
    budget = {span: int(Decimal(str(amount)) * 1_000_000) for span, amount in measures.pop("budget", {}).items()}
    if "total" in budget:  # what is left of it
        budget["total"] = max(1, budget["total"] - int(_money(row["spend"])))
    for column in ("model_max_budget", "budget_limits", "aliases", "permissions", "allowed_routes"):
        if row.get(column) not in (None, "{}", "null", "[]", []):
            notes.lose(f"{what}: {column}")
    return Key(
        id=new_key_id(),
        name=name,
        created=_micros(row.get("created_at")) or now,
        owner=None if row["user_id"] is None else clean_text((user and user["user_email"]) or row["user_id"]),
        team=None if team is None else _team_name(team),
        labels={"user": clean_text(row["user_id"])} if user is not None else {},
        expires=expires,
        models=_models(row, team),
        limits=measures,
        budget=budget,
    )


def _own_or_budget(row: Row, column: str) -> Any:
    own = row[column]
    return own if own is not None else row[f"b_{column}"]


def _models(row: Row, team: Row | None) -> tuple[str, ...] | None:
    """None: every model. A key without models of its own has those of its team."""
    models = list(row["models"] or [])
    if not models or TEAM_MODELS in models:
        models = list(team["models"] or []) if team is not None else []
    if not models or any(model in ALL_MODELS for model in models):
        return None
    return tuple(dict.fromkeys(clean_text(model) for model in models))


def _key_name(row: Row) -> str:
    name = "".join(letter for letter in str(row["key_alias"] or "") if letter.isprintable()).strip()
    return name[:200] or f"litellm-{row['token'][:8]}"


async def _add(store: Store, key: Key, row: Row, old: list[Row], now: int) -> str:
    hint = str(row["key_name"] or "")[-4:]
    note = AuditNote(time=now, actor="cli:import", action="key.import", subject=key.id, detail={"name": key.name})
    before = max(old, key=lambda one: one["revoke_at"], default=None)
    first = before["token"] if before is not None and DIGEST.fullmatch(before["token"]) else row["token"]
    secret = KeySecret(digest=bytes.fromhex(first), key_id=key.id, hint=hint, created=key.created)
    try:
        await store.keys.add(key, secret, note)
    except NameTaken:
        named = Key(**{name: getattr(key, name) for name in key.__struct_fields__} | {"name": _other_name(key, row)})
        await store.keys.add(named, secret, note)
    if before is not None and first != row["token"]:
        current = KeySecret(digest=bytes.fromhex(row["token"]), key_id=key.id, hint=hint, created=now)
        await store.keys.rotate(current, _micros(before["revoke_at"]) or now, note)
    return key.id


def _other_name(key: Key, row: Row) -> str:
    return f"{key.name} ({row['token'][:8]})"


# Spend


async def _bring_spend(store: Store, found: Found, ids: dict[str, str]) -> int:
    """Sums of whole days, up to yesterday. An identity that is made of day, key and model counts each once, however
    often this runs."""
    records = [record for row in found.spend if (record := _record(row, ids)) is not None]
    brought = 0
    for start in range(0, len(records), PAGE):
        brought += await store.ledger.post(records[start : start + PAGE])
    return brought


def _record(row: Row, ids: dict[str, str]) -> Record | None:
    try:
        day = datetime.fromisoformat(row["date"]).replace(tzinfo=UTC)
    except ValueError:
        return None
    name = "\0".join(str(row[column]) for column in ("date", "api_key", "model", "upstream"))
    digest = hashlib.sha256(name.encode("utf-8", "replace")).digest()
    entry = LedgerEntry(
        time=int(day.timestamp()) * 1_000_000 + DAY // 2,
        request_id=f"litellm-{digest.hex()[:24]}",
        kind=SUMMARY,
        key=ids.get(row["api_key"]) or (f"litellm-{row['api_key'][:8]}" if row["api_key"] else None),
        model=row["model"] or None,
        upstream=row["upstream"] or None,
        attempts=row["requests"] or 0,
        input_tokens=row["input"] or 0,
        output_tokens=row["output"] or 0,
        cached_tokens=row["cached"] or 0,
        cache_write_tokens=row["cache_write"] or 0,
        usage="reported",
        price=int(_money(row["spend"])),
        price_version="litellm",
    )
    return Record(int.from_bytes(digest[:7], "big"), 0, int.from_bytes(digest[7:14], "big"), entry)


def _money(value: float | None) -> Decimal:
    """-> micro-units"""
    amount = Decimal(str(value or 0))
    return amount.quantize(MICRO, ROUND_HALF_EVEN) * 1_000_000 if amount.is_finite() else Decimal(0)


def _micros(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1_000_000)

"""`antiphon key create|list|show|rotate|revoke`."""

from __future__ import annotations

import argparse
import getpass
import sys
from decimal import Decimal
from typing import Final

import msgspec

from antiphon.accounts.commands.running import (
    CommandRefused,
    parse_moment,
    parse_span,
    run_with_store,
    write_price,
    write_table,
    write_time,
)
from antiphon.accounts.key_documents import key_document, key_state
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.keys import LONGEST_NAME, Issued, Key, KeyRecord, issue, new_key_id
from antiphon.accounts.places import MEMORY
from antiphon.accounts.stores.contract import AuditNote, Store

KEY: Final = "Keys that clients send. They are kept in the store of [accounts], as digests."
CREATE: Final = (
    "Issue a key. It is printed alone on one line of stdout, this once; the store keeps its digest. "
    "What is not said holds as the server's settings say."
)
ROTATE: Final = "Issue a new secret for a key. The others go on for the overlap, so that clients can change."
REVOKE: Final = "End a key for good, with all its secrets. Gateways know within a second."
NAMED: Final = "name or id of the key"
LIMITS: Final = (
    *("requests_per_minute", "tokens_per_minute", "input_tokens_per_minute", "output_tokens_per_minute"),
    "concurrent",
)
BUDGETS: Final = ("day", "month", "total")
DIALECTS: Final = ("openai", "crazyrouter", "skytells", "maritaca")
PRESETS: Final = ("strict", "enterprise", "child_safe", "moderate", "minimal", "annotate-only")
MOST: Final = 1000  # labels, models and the like of one key
PAGE: Final = 500
HEAD: Final = ("ID", "NAME", "OWNER", "TEAM", "CREATED", "EXPIRES", "STATE", "SECRET")


def add_key(commands: argparse._SubParsersAction[argparse.ArgumentParser], file: str) -> None:
    key = commands.add_parser("key", help="issue, list, rotate and revoke keys", description=KEY)
    verbs = key.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)
    create = verbs.add_parser("create", help="issue a key", description=CREATE)
    _add_create(create)
    listed = verbs.add_parser("list", help="show the keys", description="Keys that are live, or all of them.")
    listed.add_argument("--all", action="store_true", help="also those that are revoked")
    show = verbs.add_parser("show", help="show one key", description="All that is known of a key.")
    rotate = verbs.add_parser("rotate", help="issue a new secret for a key", description=ROTATE)
    rotate.add_argument(
        "--overlap", type=parse_span, default="24h", metavar="SPAN", help="default: 24h; 0 ends them now"
    )
    revoke = verbs.add_parser("revoke", help="end a key", description=REVOKE)
    for verb in (show, rotate, revoke):
        verb.add_argument("key", metavar="KEY", help=NAMED)
    for verb in (create, listed, show, rotate, revoke):
        verb.add_argument("-c", "--config", metavar="FILE", help=file)
        verb.add_argument("--json", action="store_true", help="for programs")


def _add_create(create: argparse.ArgumentParser) -> None:
    create.add_argument("--name", required=True, type=_name, help="who holds it; appears in logs")
    create.add_argument("--owner", type=_name, help="a person or address")
    create.add_argument("--team", type=_name)
    create.add_argument(
        "--label", action="append", default=[], type=_pair, metavar="NAME=VALUE", help="may be repeated"
    )
    create.add_argument("--expires", type=parse_moment, metavar="WHEN", help="30d, 2026-12-31 or 2026-12-31T18:00Z")
    create.add_argument(
        "--model", action="append", type=_name, metavar="MODEL", help="it may use, or a pattern; may be repeated"
    )
    create.add_argument("--dialect", choices=DIALECTS)
    create.add_argument("--strict", action=argparse.BooleanOptionalAction, default=None)
    create.add_argument("--receipts", action=argparse.BooleanOptionalAction, default=None)
    create.add_argument("--limit", action="append", default=[], type=_limit, metavar="LIMIT=N", help=", ".join(LIMITS))
    create.add_argument(
        "--budget",
        action="append",
        default=[],
        type=_budget,
        metavar="SPAN=AMOUNT",
        help="day=5, month=99.50, total=1000",
    )
    create.add_argument("--safety-mode", choices=("filter", "annotate"))
    create.add_argument("--safety-preset", choices=PRESETS)


def run_key(options: argparse.Namespace, url: str) -> int:
    if url == MEMORY:
        print("antiphon: [accounts] store is memory:, which keeps no keys for another process", file=sys.stderr)
        return 1
    verbs = {"create": _create, "list": _list, "show": _show, "rotate": _rotate, "revoke": _revoke}
    return run_with_store(url, lambda store: verbs[options.verb](store, options))


# Verbs: each returns what stdout gets.


async def _create(store: Store, options: argparse.Namespace) -> str:
    now, issued = wall_clock(), issue()
    key = _new_key(options, now)
    if key.expires is not None and key.expires <= now:
        raise CommandRefused("the key would have expired already")
    await store.keys.add(key, issued.for_key(key.id, now), _note("create", key, now))
    return _secret_line(f'created the key "{key.name}" ({key.id})', key, issued, options)


def _new_key(options: argparse.Namespace, now: int) -> Key:
    for given, what in ((options.label, "labels"), (options.model or [], "models")):
        if len(given) > MOST:
            raise CommandRefused(f"a key has at most {MOST} {what}")
    for option in ("label", "limit", "budget"):
        _refuse_twice(option, [name for name, _ in getattr(options, option)])
    safety = {"mode": options.safety_mode, "preset": options.safety_preset}
    kind, moment = options.expires or ("at", None)
    expires = now + moment if moment is not None and kind == "span" else moment
    return Key(
        id=new_key_id(),
        name=options.name,
        created=now,
        owner=options.owner,
        team=options.team,
        labels=dict(options.label),
        expires=expires,
        models=tuple(dict.fromkeys(options.model)) if options.model else None,
        dialect=options.dialect,
        strict=options.strict,
        receipts=options.receipts,
        limits=dict(options.limit),
        budget=dict(options.budget),
        safety={name: word for name, word in safety.items() if word is not None},
    )


def _refuse_twice(option: str, names: list[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise CommandRefused(f"--{option} {name} is given twice")


async def _list(store: Store, options: argparse.Namespace) -> str:
    records: list[KeyRecord] = []
    while page := await store.keys.list(records[-1].key.id if records else "", PAGE, revoked=options.all):
        records += page
    records.sort(key=lambda record: (record.key.created, record.key.id))
    now = wall_clock()
    if options.json:
        return _json([key_document(record, now) for record in records])
    return write_table(HEAD, [_cells(record, now) for record in records])


async def _show(store: Store, options: argparse.Namespace) -> str:
    record, now = await _find(store, options), wall_clock()
    document = key_document(record, now)
    if options.json:
        return _json(document)
    document["budget"] = {span: write_price(amount) for span, amount in record.key.budget.items()}
    secrets = document.pop("secrets")
    lines = [f"{name:<10}{_text(value)}" for name, value in document.items() if value not in (None, {}, [])]
    for index, secret in enumerate(secrets):
        ends = f", ends {secret['expires']}" if secret["expires"] else ""
        lines.append(f"{'secrets' if not index else '':<10}…{secret['hint']}, issued {secret['created']}{ends}")
    return "\n".join(lines)


async def _rotate(store: Store, options: argparse.Namespace) -> str:
    key, now, issued = (await _find(store, options)).key, wall_clock(), issue()
    if not await store.keys.rotate(issued.for_key(key.id, now), now + options.overlap, _note("rotate", key, now)):
        raise CommandRefused(f'the key "{key.name}" ({key.id}) is revoked')
    ends = write_time(now + options.overlap) if options.overlap else "now"
    return _secret_line(f'rotated the key "{key.name}" ({key.id}); its other secrets end {ends}', key, issued, options)


async def _revoke(store: Store, options: argparse.Namespace) -> str:
    key, now = (await _find(store, options)).key, wall_clock()
    if key.revoked is None:
        await store.keys.replace(msgspec.structs.replace(key, revoked=now), _note("revoke", key, now))
    print(f'antiphon: revoked the key "{key.name}" ({key.id})', file=sys.stderr)
    return _json(key_document(await _find(store, options, key.id), now)) if options.json else ""


async def _find(store: Store, options: argparse.Namespace, name: str | None = None) -> KeyRecord:
    found = await store.keys.find_named(name or options.key)
    if found is None:
        raise CommandRefused(f"there is no key {options.key!r}")
    return found


def _secret_line(words: str, key: Key, issued: Issued, options: argparse.Namespace) -> str:
    print(f"antiphon: {words}; it is shown this once", file=sys.stderr)
    return _json({"id": key.id, "name": key.name, "key": issued.text}) if options.json else issued.text


def _note(action: str, key: Key, now: int) -> AuditNote:
    try:
        actor = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        actor = "unknown"
    return AuditNote(time=now, actor=f"cli:{actor}", action=f"key.{action}", subject=key.id, detail={"name": key.name})


# Texts


def _cells(record: KeyRecord, now: int) -> list[str]:
    key = record.key
    hints = " ".join(f"…{secret.hint}" for secret in record.secrets if secret.is_live(now))
    times = (write_time(key.created), write_time(key.expires))
    return [key.id, key.name, key.owner or "", key.team or "", *times, key_state(record, now), hints]


def _json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


# Arguments


def _name(text: str) -> str:
    if not text.strip() or text != text.strip() or not text.isprintable() or len(text) > LONGEST_NAME:
        raise argparse.ArgumentTypeError(
            f"must be 1 to {LONGEST_NAME} characters that can be printed, without spaces at its ends"
        )
    return text


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not written NAME=VALUE")
    return _name(name), _name(value)


def _limit(text: str) -> tuple[str, int]:
    name, value = _pair(text)
    if name not in LIMITS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(LIMITS)}")
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 10**12:
        raise argparse.ArgumentTypeError(f"{name} must be a number from 1 to {10**12}")
    return name, int(value)


def _budget(text: str) -> tuple[str, int]:
    """-> micro-units. What is written counts, digit by digit."""
    name, value = _pair(text)
    if name not in BUDGETS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(BUDGETS)}")
    try:
        micros = Decimal(value) * 1_000_000
        is_exact = 0 < micros <= 10**15 and micros == int(micros)
    except ArithmeticError:  # no number, or one that is far too large
        is_exact = False
    if not is_exact:
        raise argparse.ArgumentTypeError(f"the budget of a {name} must be an amount with at most 6 decimals")
    return name, int(micros)

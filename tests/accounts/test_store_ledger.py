"""The ledger in every store: entries once, sums that agree with them, pages, retention."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from antiphon.accounts.entry import CORRECTION, LedgerEntry, Record
from antiphon.accounts.rollups import DAY, HOUR, MEASURES, MOST_NAMES, OTHER
from antiphon.accounts.stores.contract import EntryQuery, ListedEntry, Retention, Store
from antiphon.accounts.usage import UsageQuery, UsageRow
from tests.accounts.made import NOON, entry, record

EVER = {"since": 0, "until": 2**60}


async def usage(store: Store, **fields: object) -> dict[tuple[int, str], dict[str, int]]:
    rows = await store.ledger.usage(UsageQuery(**{**EVER, **fields}))  # type: ignore[arg-type]
    return {(row.start, row.name): {name: value for name, value in row.as_dict().items() if value} for row in rows}


async def totals(store: Store) -> dict[str, int]:
    return (await usage(store, period="total")).get((0, ""), {})


async def every_entry(store: Store, limit: int = 7, key: str | None = None) -> list[ListedEntry]:
    found: list[ListedEntry] = []
    while page := await store.ledger.entries(
        EntryQuery(key=key, limit=limit, after=found[-1].cursor if found else None)
    ):
        assert len(page) <= limit
        found += page
    return found


async def test_an_entry_comes_back_as_it_was_posted(store: Store) -> None:
    given = entry(
        1,
        kind=CORRECTION,
        corrects="req_0",
        team="ml",
        tags=("env=prod", "søk"),
        endpoint="chat",
        dialect="openai",
        route="gpt-*",
        model_asked="gpt-4o-latest",
        upstream="openai",
        error="server_error",
        blocked="answer",
        stream=True,
        attempts=2,
        cached_tokens=3,
        cache_write_tokens=1,
        reasoning_tokens=2,
        usage="estimated",
        price=-12,
        price_version="2026-11-16",
        duration=1_234_567,
        first_chunk=99,
        finish="stop,length",
        detail={"attempts": [{"upstream": "a", "ms": 1.5}], "safety": None},
    )
    assert await store.ledger.post([Record(2**62, 3, 2**40, given)]) == 1
    [found] = await store.ledger.entries(EntryQuery())
    assert found.record == Record(2**62, 3, 2**40, given)


async def test_the_same_batch_twice_changes_nothing(store: Store) -> None:
    batch = [record(number, time=NOON + number, tags=("a", "b")) for number in range(1, 101)]
    assert await store.ledger.post(batch) == 100
    before = (await every_entry(store), await usage(store, split="tag"), await totals(store))
    assert await store.ledger.post(batch) == 0
    assert (await every_entry(store), await usage(store, split="tag"), await totals(store)) == before
    assert before[2]["turns"] == 100
    assert before[2]["price"] == 700


async def test_batches_overlap_and_come_out_of_order(store: Store) -> None:
    batch = [record(number, time=NOON + number) for number in range(1, 31)]
    assert await store.ledger.post(batch[20:]) == 10
    assert await store.ledger.post(batch[:25]) == 20
    assert await store.ledger.post([batch[3], batch[3]]) == 0
    assert await store.ledger.post([]) == 0
    assert [found.record for found in await every_entry(store)] == batch[::-1]
    assert (await totals(store))["turns"] == 30


async def test_one_batch_with_an_identity_twice_counts_it_once(store: Store) -> None:
    assert await store.ledger.post([record(1), record(1), record(2)]) == 2
    assert (await totals(store))["turns"] == 2


async def test_boots_and_workers_have_sequences_of_their_own(store: Store) -> None:
    batch = [record(1, boot=boot, worker=worker) for boot in (1, 2) for worker in (0, 1)]
    assert await store.ledger.post(batch) == 4
    assert await store.ledger.post(batch[2:]) == 0


async def test_rollups_equal_sums_over_the_entries(store: Store) -> None:
    chance = random.Random(7)
    batch = [_any_record(chance, number) for number in range(1, 401)]
    for start in range(0, 400, 90):
        await store.ledger.post(batch[start : start + 90])
    entries = [posted.entry for posted in batch]
    for period, size in (("hour", HOUR), ("day", DAY), ("total", None)):
        for split in (None, "key", "model", "tag", "upstream", "team"):
            got = await store.ledger.usage(UsageQuery(**EVER, period=period, split=split))  # type: ignore[arg-type]
            assert list(got) == _expected(entries, size, split), (period, split)
    mine = [one for one in entries if one.key == "k1"]
    got = await store.ledger.usage(UsageQuery(**EVER, split="model", key="k1"))  # type: ignore[arg-type]
    assert list(got) == _expected(mine, DAY, "model")
    small = [one for one in entries if one.model == "small"]
    got = await store.ledger.usage(UsageQuery(**EVER, split="key", only=("model", "small")))  # type: ignore[arg-type]
    assert list(got) == _expected(small, DAY, "key")
    got = await store.ledger.usage(UsageQuery(**EVER, only=("model", "small")))  # type: ignore[arg-type]
    assert list(got) == _expected(small, DAY, None)


def _any_record(chance: random.Random, number: int) -> Record:
    return record(
        number,
        time=NOON + chance.randrange(3 * DAY),
        key=chance.choice(["k1", "k2", None]),
        team=chance.choice(["t", None]),
        model=chance.choice(["large", "small", "émile"]),
        upstream=chance.choice(["a", "b", None]),
        tags=tuple(chance.sample(["x", "y", "z"], chance.randrange(3))),
        status=chance.choice([200, 400, 502]),
        blocked=chance.choice([None, "prompt"]),
        usage=chance.choice(["reported", "estimated"]),
        input_tokens=chance.randrange(1000),
        output_tokens=chance.randrange(1000),
        price=chance.randrange(10**9),
        duration=chance.randrange(10**8),
    )


def _expected(entries: Sequence[LedgerEntry], size: int | None, split: str | None) -> list[UsageRow]:
    """The same sums, taken from the entries one by one."""
    sums: dict[tuple[int, str], list[int]] = {}
    for one in entries:
        names = {None: [""], "tag": one.tags, "key": [one.key or "(no key)"], "team": [one.team], "model": [one.model]}
        for name in names.get(split, [one.upstream]):
            if name is None:
                continue
            at = (one.time - one.time % size if size else 0, name)
            own = [1, one.status >= 400, one.blocked is not None, one.usage == "estimated"]
            own += [one.input_tokens, one.cached_tokens, one.cache_write_tokens, one.output_tokens]
            own += [one.reasoning_tokens, one.price, one.duration]
            sums[at] = [left + right for left, right in zip(sums.get(at, [0] * len(own)), own, strict=True)]
    return [UsageRow(*at, tuple(sums[at])) for at in sorted(sums)]


async def test_a_correction_changes_sums_and_counts_no_turn(store: Store) -> None:
    await store.ledger.post([record(1, price=100, output_tokens=50)])
    fix = record(2, kind=CORRECTION, corrects="req_1", price=-40, input_tokens=0, output_tokens=-20, status=0)
    await store.ledger.post([fix])
    assert await totals(store) == {"turns": 1, "input_tokens": 10, "output_tokens": 30, "price": 60}
    assert len(await every_entry(store)) == 2


async def test_pages_of_entries_hold_every_entry_once(store: Store) -> None:
    """Also those of one instant, and while new ones come."""
    batch = [record(number, time=NOON + number % 3, key=f"k{number % 2}") for number in range(1, 51)]
    await store.ledger.post(batch)
    first = await store.ledger.entries(EntryQuery(limit=10))
    await store.ledger.post([record(99, time=NOON + 10)])
    rest = await store.ledger.entries(EntryQuery(limit=100, after=first[-1].cursor))
    ids = [found.entry.request_id for found in (*first, *rest)]
    assert sorted(ids) == sorted(posted.entry.request_id for posted in batch)
    times = [found.entry.time for found in (*first, *rest)]
    assert times == sorted(times, reverse=True)
    assert {found.entry.key for found in await every_entry(store, key="k1")} == {"k1"}
    assert len(await every_entry(store, key="k1")) == 25
    spanned = await store.ledger.entries(EntryQuery(since=NOON + 1, until=NOON + 2, limit=100))
    assert {found.entry.time for found in spanned} == {NOON + 1}


async def test_pages_of_usage(store: Store) -> None:
    await store.ledger.post([record(number, time=NOON + number * DAY, model=f"m{number % 4}") for number in range(20)])
    whole = await store.ledger.usage(UsageQuery(**EVER, split="model"))  # type: ignore[arg-type]
    pages: list[UsageRow] = []
    while page := await store.ledger.usage(
        UsageQuery(0, 2**60, split="model", limit=3, after=(pages[-1].start, pages[-1].name) if pages else None)
    ):
        pages += page
    assert pages == list(whole)
    assert len(pages) == 20


async def test_names_that_clients_invent_are_bounded(store: Store) -> None:
    many = MOST_NAMES + 50
    batch = [record(number, tags=(f"t{number}",), model=f"m{number}", key="k") for number in range(1, many + 1)]
    await store.ledger.post(batch[:900])
    await store.ledger.post(batch[900:])
    for split in ("tag", "model"):
        rows = await usage(store, period="total", split=split, limit=5000)
        assert len(rows) == MOST_NAMES + 1
        assert rows[0, OTHER]["turns"] == 50
        assert sum(row["turns"] for row in rows.values()) == many
    own = await usage(store, period="total", split="tag", key="k", limit=5000)
    assert own[0, OTHER]["turns"] == 50


HOSTILE = [
    "'; drop table entries; --",
    "a\0b",
    "\ud800",
    "\U0001f600" * 500,
    "%s $1 ?1 {0}",
    '"',
    "\\",
    "☃\n\x1b[0m",
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_texts_of_clients_do_no_harm(store: Store, text: str) -> None:
    given = record(1, model=text, tags=(text, "t"), error=text, key=text, detail={text: [text]}, upstream=text)
    assert await store.ledger.post([given, record(2)]) == 2
    assert await store.ledger.post([given]) == 0
    assert (await totals(store))["turns"] == 2
    [found] = await store.ledger.entries(EntryQuery(key=_clean(text), limit=1))
    if text.isascii() and "\0" not in text:
        assert found.entry.model == text
        assert found.entry.detail == {text: [text]}


def _clean(text: str) -> str:
    return text[:256].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


async def test_numbers_that_no_turn_has_do_no_harm(store: Store) -> None:
    wild = record(1, input_tokens=10**30, output_tokens=-(10**30), price=10**25, duration=2**80, time=-5)
    assert await store.ledger.post([wild, record(2, time=2**70)]) == 2
    assert await store.ledger.post([wild]) == 0
    assert len(await every_entry(store)) == 2


async def test_entries_too_old_are_pruned_and_sums_stay(store: Store) -> None:
    now = NOON + 40 * DAY
    await store.ledger.post([record(number, time=NOON + number * DAY) for number in range(40)])
    before = await usage(store)
    while await store.prune(Retention(entry_days=30, hour_days=0), now):
        pass
    times = [found.entry.time for found in await every_entry(store)]
    assert min(times) >= now - 31 * DAY
    assert NOON + 11 * DAY in times
    assert await usage(store) == before


async def test_rollups_too_old_are_pruned(store: Store) -> None:
    now = NOON + 30 * DAY
    await store.ledger.post([record(number, time=NOON + number * DAY) for number in range(30)])
    while await store.prune(Retention(entry_days=0, hour_days=10, day_days=20), now):
        pass
    assert min(start for start, _ in await usage(store, period="hour")) >= now - 10 * DAY
    assert min(start for start, _ in await usage(store)) >= now - 20 * DAY
    assert len(await usage(store)) in (19, 20)


async def test_entries_too_many_are_pruned_from_the_oldest(store: Store) -> None:
    chance = random.Random(5)  # what repeats itself would be compressed
    for day in range(4):
        batch = [
            record(100 * day + number, time=NOON + day * DAY, detail={"t": chance.randbytes(2000).hex()})
            for number in range(100)
        ]
        await store.ledger.post(batch)
    limit = 700_000
    steps = 0
    while await store.prune(Retention(entry_days=0, hour_days=0, day_days=0, entry_bytes=limit), NOON + 4 * DAY):
        steps += 1
        assert steps < 50
    left = [found.entry.time for found in await every_entry(store, limit=100)]
    assert 80 < len(left) < 200
    assert max(left) == NOON + 3 * DAY
    assert (await totals(store))["turns"] == 400


def test_measures_are_what_is_stored() -> None:
    assert len(set(MEASURES)) == len(MEASURES)

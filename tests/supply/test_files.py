"""Where the engine's files lie, and that a digest is remembered exactly as long as it is true."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from antiphon.supply.files import MODEL, cache_directory, digest_of, model_path, packaged_model
from tests.supply.fetch_kit import CONTENT, SMALL, digest


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/antiphon"),
        ({"XDG_CACHE_HOME": "c", "HOME": "/h"}, "/h/.cache/antiphon"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/antiphon"),
        ({"HOME": "/h"}, "/h/.cache/antiphon"),
    ],
)
def test_the_cache_is_where_xdg_says(environ: dict[str, str], expected: str) -> None:
    assert cache_directory(environ) == Path(expected)
    assert model_path(environ) == Path(expected) / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_the_packaged_model_is_there_or_not(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    path = model_path(environ, SMALL)
    assert packaged_model(environ, SMALL) is None
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert packaged_model(environ, SMALL) == path
    assert packaged_model(environ, MODEL) is None
    path.write_bytes(CONTENT[:-1] + b"x")
    assert packaged_model(environ, SMALL) is None


def memory(cache: Path) -> Path:
    (path,) = (cache / "antiphon" / "digests").iterdir()
    return path


def test_a_digest_is_remembered(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    file = tmp_path / "model.gguf"
    file.write_bytes(CONTENT)
    assert digest_of(file, environ) == digest(CONTENT)
    kept = memory(tmp_path / "cache")
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "sha256": "as remembered"}))
    assert digest_of(file, environ) == "as remembered"
    (tmp_path / "link").symlink_to(file)
    assert digest_of(tmp_path / "link", environ) == "as remembered"


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    file = tmp_path / "model.gguf"
    file.write_bytes(b"one")
    before = file.stat()
    assert digest_of(file, environ) == digest(b"one")
    file.write_bytes(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digest_of(file, environ) == digest(b"two")
    (tmp_path / "new").write_bytes(b"six")
    os.replace(tmp_path / "new", file)
    assert digest_of(file, environ) == digest(b"six")


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b'{"state": 1}', b"\xff"])
def test_a_memory_that_is_damaged_is_made_anew(junk: bytes, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    file = tmp_path / "model.gguf"
    file.write_bytes(CONTENT)
    digest_of(file, environ)
    memory(tmp_path / "cache").write_bytes(junk)
    assert digest_of(file, environ) == digest(CONTENT)
    assert json.loads(memory(tmp_path / "cache").read_bytes())["sha256"] == digest(CONTENT)


def test_without_a_place_to_remember_it_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(CONTENT)
    assert digest_of(file, {"XDG_CACHE_HOME": "/dev/null"}) == digest(CONTENT)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        digest_of(tmp_path / "none.gguf", {"XDG_CACHE_HOME": str(tmp_path)})

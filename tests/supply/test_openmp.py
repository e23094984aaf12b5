"""Where the engine's process gets libgomp from: the machine, an installed wheel, the cache; else a sentence."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from antiphon.supply.fetch import FetchFault, fetch_openmp
from antiphon.supply.files import OPENMP
from antiphon.supply.openmp import OpenMpFault, openmp_directory
from tests.supply.fetch_kit import CONTENT, SMALL, Heard, Shop, environment, selling

with open("/proc/self/exe", "rb") as interpreter:
    HEAD = interpreter.read(20)
LIBRARY = HEAD + b"....\0GOMP_1.0\0GOMP_4.5\0...."
OTHER_MACHINE = HEAD[:18] + b"\xff\xff" + LIBRARY[20:]
OLD = HEAD + b"....\0GOMP_1.0\0GOMP_4.0\0...."
CARRIED = {platform.machine(): replace(SMALL, title="the library libgomp.so.1")}


def lacks() -> bool:
    """The loader, on a machine without the library."""
    return False


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "venv" / "lib" / "python3" / "site-packages"


@pytest.fixture
def put(site: Path) -> Callable[[str, bytes], Path]:
    def put(name: str, content: bytes) -> Path:
        path = Path(os.path.normpath(site / name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        site.mkdir(parents=True, exist_ok=True)
        return path

    return put


def find(tmp_path: Path, site: Path, place: Path | None = None) -> str | None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    return openmp_directory(environ, place, has_it=lacks, paths=["", str(tmp_path), str(site)])


def test_a_machine_that_has_it_needs_nothing(tmp_path: Path) -> None:
    assert openmp_directory({"XDG_CACHE_HOME": str(tmp_path)}, has_it=lambda: True) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        "scikit_learn.libs/libgomp-a34b3233.so.1.0.0",
        "torch/lib/libgomp.so.1",
        "faiss.libs/libomp-1234.so",
        "mkl.libs/libiomp5-1.so",
        "torch/lib/libiomp5.so",
        "../../libiomp5.so",
    ],
)
def test_a_copy_in_an_installed_wheel_is_offered_by_a_link(
    name: str, tmp_path: Path, site: Path, put: Callable[[str, bytes], Path]
) -> None:
    library = put(name, LIBRARY)
    folder = Path(find(tmp_path, site) or "")
    assert [path.name for path in folder.iterdir()] == ["libgomp.so.1"]
    assert (folder / "libgomp.so.1").resolve() == library
    assert find(tmp_path, site) == str(folder)


def test_the_link_lies_where_it_is_wanted(tmp_path: Path, site: Path, put: Callable[[str, bytes], Path]) -> None:
    place = tmp_path / "room" / "lib"
    put("b.libs/libgomp-1.so.1", LIBRARY)
    assert find(tmp_path, site, place) == str(place)
    first = put("a.libs/libgomp-2.so.1", LIBRARY)
    assert find(tmp_path, site, place) == str(place)
    assert (place / "libgomp.so.1").readlink() == first
    assert not (tmp_path / "cache").exists()


def test_gccs_own_is_preferred(tmp_path: Path, site: Path, put: Callable[[str, bytes], Path]) -> None:
    put("a.libs/libomp.so", LIBRARY)
    gomp = put("z.libs/libgomp-1.so.1", LIBRARY)
    assert (Path(find(tmp_path, site) or "") / "libgomp.so.1").readlink() == gomp


@pytest.mark.parametrize("content", [b"", b"text", OTHER_MACHINE, OLD])
def test_a_library_that_cannot_serve_is_passed_over(
    content: bytes, tmp_path: Path, site: Path, put: Callable[[str, bytes], Path]
) -> None:
    put("a.libs/libgomp-1.so.1", content)
    with pytest.raises(OpenMpFault):
        find(tmp_path, site)
    good = put("b.libs/libgomp-2.so.1", LIBRARY)
    assert (Path(find(tmp_path, site) or "") / "libgomp.so.1").readlink() == good


def test_other_folders_than_site_packages_are_not_searched(tmp_path: Path, site: Path) -> None:
    (tmp_path / "evil.libs").mkdir()
    (tmp_path / "evil.libs" / "libgomp.so.1").write_bytes(LIBRARY)
    with pytest.raises(OpenMpFault):
        find(tmp_path, site)


def test_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(OpenMpFault) as got:
        openmp_directory({"XDG_CACHE_HOME": str(tmp_path)}, has_it=lacks, paths=[], carried={})
    assert str(got.value) == (
        "The embedded engine needs libgomp.so.1, which this machine lacks: install it "
        "(Debian, Ubuntu: apt install libgomp1; Fedora, RHEL: dnf install libgomp)."
    )
    with pytest.raises(OpenMpFault, match=": run `antiphon model fetch`, or install it"):
        openmp_directory({"XDG_CACHE_HOME": str(tmp_path)}, has_it=lacks, paths=[], carried=CARRIED)


def test_a_link_that_cannot_be_made_is_the_same_fault(site: Path, put: Callable[[str, bytes], Path]) -> None:
    put("a.libs/libgomp-1.so.1", LIBRARY)
    with pytest.raises(OpenMpFault, match="cannot be linked"):
        openmp_directory({"XDG_CACHE_HOME": "/dev/null"}, has_it=lacks, paths=[str(site)])


def test_the_loader_itself_is_asked(tmp_path: Path) -> None:
    """A library that the loader cannot load is none."""
    (tmp_path / "libgomp.so.1").write_text("no library")
    code = "from antiphon.supply.openmp import loader_has_it; print(loader_has_it())"
    environ = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True).stdout == b"False\n"


# Fetching it


def test_it_is_fetched_where_nobody_has_it(tmp_path: Path) -> None:
    with selling(Shop()) as shop:
        environ = environment(tmp_path, shop.url)
        path = fetch_openmp(environ, Heard(), has_it=lacks, paths=[], carried=CARRIED)
    assert path is not None
    assert path.name == "libgomp.so.1"
    assert path.read_bytes() == CONTENT
    assert openmp_directory(environ, has_it=lacks, paths=[], carried=CARRIED) == str(path.parent)
    path.write_bytes(b"damaged")
    with pytest.raises(OpenMpFault):
        openmp_directory(environ, has_it=lacks, paths=[], carried=CARRIED)


def test_it_is_not_fetched_where_somebody_has_it(tmp_path: Path, site: Path, put: Callable[[str, bytes], Path]) -> None:
    put("a.libs/libgomp-1.so.1", LIBRARY)
    with selling(Shop()) as shop:
        environ = environment(tmp_path, shop.url)
        assert fetch_openmp(environ, Heard(), has_it=lambda: True, paths=[], carried=CARRIED) is None
        assert fetch_openmp(environ, Heard(), has_it=lacks, paths=[str(site)], carried=CARRIED) is None
    assert shop.logins == []


def test_a_machine_for_which_none_is_known(tmp_path: Path) -> None:
    with pytest.raises(FetchFault, match="apt install libgomp1"):
        fetch_openmp({"XDG_CACHE_HOME": str(tmp_path)}, Heard(), has_it=lacks, paths=[], carried={})


def test_both_kinds_of_machine_that_the_engine_runs_on_are_known() -> None:
    assert set(OPENMP) == {"x86_64", "aarch64"}
    for machine, packaged in OPENMP.items():
        assert packaged.wheel.endswith(f"_{machine}.whl")

"""What `antiphon serve` says when it is ready."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from antiphon.banner import banner
from antiphon.settings import load


def said(folder: Path, routes: int) -> list[str]:
    rows = [f'[[route]]\nmodel = "m{number}"\ntargets = [{{ upstream = "up" }}]' for number in range(routes)]
    (folder / "a.toml").write_text('[[upstream]]\nname = "up"\nprotocol = "scripted"\n' + "\n".join(rows))
    settings = load(str(folder / "a.toml"), {}, ("scripted",))
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return banner(settings, sock, None).splitlines()


def test_it_says_what_is_blocked(tmp_path: Path) -> None:
    assert "  safety     annotates; blocks in skytells (by embedded, protected)" in said(tmp_path, 1)


@pytest.mark.parametrize(("routes", "named", "more"), [(20, 20, ""), (21, 20, "1"), (1234, 20, "1,214")])
def test_of_many_routes_it_names_the_first(tmp_path: Path, routes: int, named: int, more: str) -> None:
    lines = said(tmp_path, routes)
    assert [line.split()[-3] for line in lines if line.endswith(" -> up")] == [f"m{n}" for n in range(named)]
    rest = [line.strip() for line in lines if " more (" in line]
    assert rest == ([f"and {more} more (antiphon check names them)"] if more else [])

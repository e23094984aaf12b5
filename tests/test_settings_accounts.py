"""`[accounts]` in the settings: which stores there are, faults with their line and without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.settings import SettingsError, load


def read(folder: Path, store: str, environ: dict[str, str] | None = None) -> str:
    path = folder / "antiphon.toml"
    path.write_text(f'[server]\nworkers = 1\n[accounts]\nstore = "{store}"\n')
    secret = load(str(path), environ or {}, ("embedded", "scripted")).accounts.store
    assert secret is not None
    assert store.removeprefix("sqlite:///") not in repr(secret)
    return secret.reveal()


def test_stores(tmp_path: Path) -> None:
    assert read(tmp_path, "sqlite:////var/lib/a.db") == "sqlite:////var/lib/a.db"
    assert read(tmp_path, "sqlite:///a.db") == f"sqlite:///{tmp_path}/a.db"
    assert read(tmp_path, "sqlite:///~/a.db", {"HOME": "/home/me"}) == "sqlite:////home/me/a.db"
    assert read(tmp_path, "memory:") == "memory:"
    for url in ("postgres://me@db/x", "postgresql://me:p%40ss@db:5432/x?sslmode=require", "postgresql:///x"):
        assert read(tmp_path, url) == url
    assert read(tmp_path, "env:STORE", {"STORE": "postgresql://me:secret@db/x"}) == "postgresql://me:secret@db/x"


FORMS = "'sqlite:///PATH', 'postgresql://USER@HOST/DATABASE' or 'memory:'"
FAULTS = [
    ("mysql://me:hunter2@db/x", f"must be {FORMS}"),
    ("hunter2", f"must be {FORMS}"),
    ("memory:hunter2", f"must be {FORMS}"),
    ("sqlite:hunter2.db", "must name a file as 'sqlite:///PATH': three slashes, then the path"),
    ("sqlite://hunter2.db", "must name a file as 'sqlite:///PATH': three slashes, then the path"),
    ("sqlite:///", "must name a file as 'sqlite:///PATH': three slashes, then the path"),
    ("sqlite:///a.db?hunter2=1", "must name a file as 'sqlite:///PATH': three slashes, then the path"),
    ("postgresql:hunter2", "must be written 'postgresql://USER@HOST/DATABASE'"),
    ("postgresql://me:hunter2@db", "must name a database: 'postgresql://USER@HOST/DATABASE'"),
    ("postgresql://me:hunter2@db:99999/x", "has a port that is none"),
    ("postgresql://me:hunter2@:5432/x", "must be written 'postgresql://USER@HOST/DATABASE'"),
    ("", "must not be empty"),
]


@pytest.mark.parametrize(("store", "said"), FAULTS)
def test_faults(tmp_path: Path, store: str, said: str) -> None:
    for environ, where in (({}, f"{tmp_path}/antiphon.toml:4"), ({"ANTIPHON_ACCOUNTS__STORE": store}, "ANTIPHON_ACC")):
        written = store if not environ else "memory:"
        if environ and not store:
            continue  # an empty variable counts as not set
        with pytest.raises(SettingsError) as caught:
            read(tmp_path, written, environ)
        [fault] = caught.value.faults
        assert str(fault).startswith(where)
        assert str(fault).endswith(f"[accounts]: 'store' {said}")
        assert "hunter2" not in str(fault).removeprefix(str(tmp_path))


def test_keys_can_be_issued_before_there_is_any(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text("[server]\nauth = true\n")
    assert load(str(path), {}, ("embedded", "scripted")).warnings == ()
    path.write_text("[server]\nauth = true\n[accounts]\nenabled = false\n")
    with pytest.raises(SettingsError, match="so every request would be refused"):
        load(str(path), {}, ("embedded", "scripted"))


def test_limits_need_accounts(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text('[accounts]\nenabled = false\n[[limit]]\nname = "x"\nconcurrent = 5\n')
    with pytest.raises(SettingsError) as caught:
        load(str(path), {}, ("embedded", "scripted"))
    [fault] = caught.value.faults
    assert str(fault).startswith(f"{path}:4: ")
    assert "would limit nothing" in str(fault)


def test_what_is_kept_and_where(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text('[accounts]\nstate = "here"\nkeys_max_age = 60\n[accounts.keep]\nentry_days = 7\nentry_bytes = 0\n')
    accounts = load(str(path), {}, ("embedded", "scripted")).accounts
    assert accounts.state == str(tmp_path / "here")
    assert accounts.keys_max_age == 60
    assert (accounts.keep.entry_days, accounts.keep.entry_bytes, accounts.keep.day_days) == (7, 0, None)
    (tmp_path / "here").write_text("")
    with pytest.raises(SettingsError, match="which is not a folder"):
        load(str(path), {}, ("embedded", "scripted"))

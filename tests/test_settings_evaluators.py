"""[[safety.evaluator]] rows: which are in force, and every combination that makes no sense, with its line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from antiphon.evaluators.protected.index import PACKAGED
from antiphon.settings import Settings, SettingsError, load
from antiphon.settings.evaluators import DEFAULT, in_force
from antiphon.settings.value_types import processes_for
from antiphon.upstreams.catalog import CATALOG

BASE = """\
[[upstream]]
name = "up"
protocol = "scripted"
[[route]]
model = "m"
targets = [{ upstream = "up" }]
[[key]]
name = "app"
secret = "env:APP"
"""
ENVIRON = {"APP": "sk-app", "VENDOR": "sk-vendor"}
FIRST = BASE.count("\n") + 2  # the line of a row's `kind`


def read(folder: Path, rows: str) -> Settings:
    path = folder / "antiphon.toml"
    path.write_text(BASE + rows)
    return load(str(path), ENVIRON, CATALOG)


def row(kind: str, *lines: str) -> str:
    return "\n".join(["[[safety.evaluator]]", f'kind = "{kind}"', *lines]) + "\n"


def test_without_rows_the_embedded_ones_are_in_force(tmp_path: Path) -> None:
    assert in_force(read(tmp_path, "").safety) == DEFAULT
    assert [each.kind for each in DEFAULT] == ["embedded", "protected"]


def test_with_rows_exactly_these_are(tmp_path: Path) -> None:
    (only,) = in_force(read(tmp_path, row("rules", 'words = ["x"]')).safety)
    assert (only.kind, only.name, only.mode, only.words) == ("rules", "rules", "filter", ("x",))
    assert (only.stages, only.routes, only.keys) == (None, None, None)


def test_every_key(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("word\n")
    shutil.copy(PACKAGED, tmp_path / "a.index")
    rows = (
        row("rules", 'name = "r"', 'words = ["x"]', "patterns = ['a\\d']", 'file = "list.txt"', 'mode = "annotate"')
        + row("protected", 'index = ["a.index"]', 'stages = ["answer"]', 'routes = ["m"]', 'keys = ["app"]')
        + row("openai", 'url = "https://api.openai.com/v1"', 'credential = "env:VENDOR"', 'model = "omni"')
        + row("azure", 'url = "https://x.example"', 'credential = "env:VENDOR"', "timeout = 3")
        + row("http", 'url = "http://127.0.0.1:1/x"')
        + row("chat", 'route = "m"')
        + row("chat", 'name = "guard"', 'url = "http://127.0.0.1:1/v1"', 'model = "guard"', 'credential = "env:VENDOR"')
    )
    rules, protected, openai, azure, _, chat, guard = read(tmp_path, rows).safety.evaluators
    assert (rules.patterns, rules.file, rules.mode) == (("a\\d",), str(tmp_path / "list.txt"), "annotate")
    assert (protected.index, protected.routes, protected.keys) == ((str(tmp_path / "a.index"),), ("m",), ("app",))
    assert openai.credential is not None
    assert openai.credential.reveal() == "sk-vendor"
    assert azure.timeout == 3.0
    assert (chat.route, chat.url) == ("m", None)
    assert (guard.name, guard.model) == ("guard", "guard")


FAULTS: list[tuple[str, list[tuple[int, str]]]] = [
    (row("rules"), [(-1, "rules need 'words', 'patterns', a 'file' or 'lists'")]),
    (row("rules", "words = []"), [(-1, "rules need 'words', 'patterns', a 'file' or 'lists'")]),
    (row("openai"), [(-1, "'evaluator[0].url' is missing")]),
    (
        row("azure", 'url = "https://x.example"'),
        [(-1, "'evaluator[0].credential' is missing")],
    ),
    (row("http"), [(-1, "'evaluator[0].url' is missing")]),
    (row("chat"), [(-1, "kind \"chat\" needs either 'url' or 'route'")]),
    (
        row("chat", 'url = "http://x.example/v1"', 'route = "m"', 'model = "x"'),
        [(-1, "kind \"chat\" needs either 'url' or 'route'")],
    ),
    (row("chat", 'url = "http://x.example/v1"'), [(-1, "'evaluator[0].model' is missing")]),
    (row("chat", 'route = "n"'), [(1, 'there is no [[route]] "n"')]),
    (row("chat", 'route = "m"', 'model = "x"'), [(2, "'model' has no meaning beside 'route', whose target says it")]),
    (row("embedded", 'routes = ["m", "mm"]'), [(1, "there is no [[route]] \"mm\"; did you mean 'm'?")]),
    (row("embedded", 'keys = ["apt"]'), [(1, "there is no [[key]] \"apt\"; did you mean 'app'?")]),
    (row("embedded", 'stages = ["prompts"]'), [(1, "'evaluator[0].stages[0]' must be one of prompt, answer")]),
    (row("embedded", "stages = []"), [(1, "'stages' is empty: it would look at nothing")]),
    (row("embedded", 'words = ["x"]'), [(1, "'words' has no meaning for kind \"embedded\"")]),
    (row("rules", 'words = ["x"]', 'url = "http://x.example"'), [(2, "'url' has no meaning for kind \"rules\"")]),
    (row("rules", 'file = "none.txt"'), [(1, "'evaluator[0].file' refers to the file none.txt: no such file")]),
    (row("protected", 'index = ["none"]'), [(1, "'evaluator[0].index[0]' refers to the file none: no such file")]),
    (
        row("rules", "patterns = [", "  'fine',", "  '(',", "]"),
        [(3, "'evaluator[0].patterns[1]' is no pattern: ")],
    ),
    (row("rules", "patterns = ['a*']"), [(1, "'evaluator[0].patterns[0]' is no pattern: ")]),
    (row("embedded") + row("embedded"), [(1, f'the name "embedded" is taken by the evaluator at FILE:{FIRST - 1}')]),
    (row("embeded"), [(0, "'evaluator[0].kind' must be one of embedded, openai")]),
    (row("openai", 'url = "http://x.example"', 'credential = "sk-1"'), [(2, "must be written env:NAME or file:PATH")]),
]


@pytest.mark.parametrize(("rows", "expected"), FAULTS)
def test_faults(tmp_path: Path, rows: str, expected: list[tuple[int, str]]) -> None:
    with pytest.raises(SettingsError) as refused:
        read(tmp_path, rows)
    path = str(tmp_path / "antiphon.toml")
    faults = [(fault.where, fault.message) for fault in refused.value.faults]
    assert [where for where, _ in faults] == [f"{path}:{FIRST + line}" for line, _ in expected]
    for (_, message), (_, words) in zip(faults, expected, strict=True):
        assert words.replace("FILE", path) in message
        assert message.startswith("[safety]: ")


@pytest.mark.parametrize("name", ["*", "guard-*"])
def test_a_route_for_many_models_needs_a_model_to_ask_for(tmp_path: Path, name: str) -> None:
    rows = f'[[route]]\nmodel = "{name}"\ntargets = [{{ upstream = "up" }}]\n' + row("chat", f'route = "{name}"')
    with pytest.raises(SettingsError, match="names no model"):
        read(tmp_path, rows)
    chat = rows.replace('upstream = "up"', 'upstream = "up", model = "x"')
    assert read(tmp_path, chat).safety.evaluators[0].route == name


def test_a_credential_in_the_clear_is_warned_about(tmp_path: Path) -> None:
    settings = read(tmp_path, row("openai", 'url = "http://judge.example/v1"', 'credential = "env:VENDOR"'))
    assert settings.warnings == ('[[safety.evaluator]] "openai" sends its credential unencrypted: its url is http://.',)


def test_a_proxy_that_cannot_be_used_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text(BASE + row("http", 'url = "http://judge.example/x"'))
    with pytest.raises(SettingsError, match="the environment's proxy cannot be used"):
        load(str(path), {**ENVIRON, "HTTP_PROXY": "ftp://x"}, CATALOG)


def test_a_list_that_cannot_be_used_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("fine\n\n/(/\n")
    with pytest.raises(SettingsError) as refused:
        read(tmp_path, row("rules", 'file = "list.txt"'))
    (fault,) = refused.value.faults
    assert fault.where.endswith(f":{FIRST + 1}")
    assert "list.txt, line 3: " in fault.message


def test_each_wrong_line_of_a_list_is_a_fault_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("/(/\nfine\n/[/\n")
    with pytest.raises(SettingsError) as refused:
        read(tmp_path, row("rules", 'file = "list.txt"'))
    first, second = refused.value.faults
    assert first.where == second.where
    assert first.where.endswith(f":{FIRST + 1}")
    assert "list.txt, line 1: " in first.message
    assert "list.txt, line 3: " in second.message


def test_an_index_that_is_none_is_a_fault(tmp_path: Path) -> None:
    shutil.copy(PACKAGED, tmp_path / "good.index")
    (tmp_path / "bad.index").write_bytes(b"no index")
    (tmp_path / "empty.index").write_bytes(b"")
    (tmp_path / "short.index").write_bytes(PACKAGED.read_bytes()[:1000])
    names = '"good.index", "bad.index", "empty.index", "short.index"'
    with pytest.raises(SettingsError) as refused:
        read(tmp_path, row("protected", f"index = [{names}]"))
    assert [fault.where.rpartition(":")[2] for fault in refused.value.faults] == [str(FIRST + 1)] * 3
    bad, empty, short = (fault.message for fault in refused.value.faults)
    assert f"'evaluator[0].index[1]' is no index: {tmp_path}/bad.index: this is not an Antiphon index" in bad
    assert "empty.index: this is not an Antiphon index" in empty
    assert "short.index: the file is damaged: it has 1000 bytes" in short


def test_other_faults_hide_no_pattern_and_no_index(tmp_path: Path) -> None:
    (tmp_path / "bad.index").write_bytes(b"no index")
    rows = (
        row("embedded", "timeout = -1")
        + row("rules", "patterns = ['x', 'x', '(', 7]", 'mode = "loud"')
        + row("protected", 'index = ["none", "bad.index"]')
    )
    with pytest.raises(SettingsError) as refused:
        read(tmp_path, rows)
    told = [fault.message for fault in refused.value.faults]
    for words in ("timeout", "patterns[2]' is no pattern", "mode", "index[0]' refers", "index[1]' is no index"):
        assert any(words in message for message in told), words


@pytest.mark.parametrize(
    ("cores", "processes"), [(1, 1), (2, 1), (3, 1), (4, 2), (7, 3), (16, 8), (128, 8)], ids=lambda number: f"{number}"
)
def test_processes_by_the_number_of_cores(cores: int, processes: int) -> None:
    assert processes_for(cores) == processes


def test_processes_and_the_wait_are_settings(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text("[safety]\nprocesses = 3\nqueue_ms = 0\n")
    safety = load(str(path), {}, CATALOG).safety
    assert (safety.processes, safety.queue_ms) == (3, 0)
    path.write_text('[safety]\nprocesses = "auto"\n')
    written = load(str(path), {}, CATALOG).safety
    path.write_text("")
    assert load(str(path), {}, CATALOG).safety == written
    assert written.queue_ms == 2000
    assert written.processes >= 1


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("processes = 0", "'processes' must be 1 or more"),
        ("processes = 257", "'processes' must be 256 or less"),
        ('processes = "many"', "'processes' must be an integer or 'auto', not 'many'"),
        ("queue_ms = -1", "'queue_ms' must be 0 or more"),
        ("queue_ms = 1.5", "'queue_ms' must be an integer, not a number"),
    ],
)
def test_wrong_processes_and_waits_are_refused(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text(f"[safety]\n{line}\n")
    with pytest.raises(SettingsError) as raised:
        load(str(path), {}, CATALOG)
    assert [(each.where, each.message) for each in raised.value.faults] == [(f"{path}:2", f"[safety]: {fault}")]

"""The command line: what it prints, where, and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon import __version__
from antiphon.cli import main

GOOD = """
[server]
listen = "127.0.0.1:9999"
workers = 2
dialect = "skytells"
auth = true
[[upstream]]
name = "openai"
protocol = "openai"
url = "https://api.openai.com/v1"
credential = "env:TEST_CREDENTIAL"
[[upstream]]
name = "shipped"
protocol = "scripted"
[[route]]
model = "gpt-4o"
targets = [{ upstream = "shipped", priority = 1 }, { upstream = "openai", model = "gpt-4o-mini" }]
[[route]]
model = "*"
targets = [{ upstream = "shipped" }]
[[key]]
name = "app"
secret = "env:TEST_KEY"
"""
BAD = '[server]\nlisten = "nowhere"\n\n[[upstream]]\nname = "openai"\nur1 = "x"\n'
FAULTS = """\
bad.toml:2: [server]: 'listen' must be host:port or unix:/path, not 'nowhere'
bad.toml:4: [[upstream]] "openai": 'protocol' is missing
bad.toml:4: [[upstream]] "openai": no [[route]] leads here: nothing would be answered
bad.toml:6: [[upstream]] "openai": unknown key 'ur1'; did you mean 'url'?
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and no settings in the environment."""
    for name in [name for name in os.environ if name.upper().startswith("ANTIPHON_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "bad.toml").write_text(BAD)
    return tmp_path


def test_check_tells_what_would_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TEST_CREDENTIAL", "sk-upstream")
    monkeypatch.setenv("TEST_KEY", "sk-app")
    assert main(["check", "-c", "good.toml"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        "good.toml: ok",
        "listen    127.0.0.1:9999",
        "serve     2 workers, dialect skytells, auth by 1 key and issued keys",
        "safety    annotates; blocks in skytells (by embedded, protected)",
        "upstream  openai: https://api.openai.com/v1 (openai)",
        "          shipped: (scripted)",
        "route     gpt-4o -> openai/gpt-4o-mini, shipped",
        "          * -> shipped",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "auth by issued keys"),
        ("[accounts]\nenabled = false\n[[key]]\nname = 'app'\nsecret = 'env:TEST_KEY'\n", "auth by 1 key"),
    ],
)
def test_check_says_which_keys_are_taken(
    text: str, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-app")
    (folder / "antiphon.toml").write_text(f"[server]\nauth = true\n{text}")
    assert main(["check"]) == 0
    assert capsys.readouterr().out.splitlines()[2] == f"serve     1 worker, dialect openai, {words}"


def test_check_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    threads = max(1, len(os.sched_getaffinity(0)) - 1)
    assert capsys.readouterr().out.splitlines() == [
        "built-in settings: ok",
        "listen    127.0.0.1:8080",
        "serve     1 worker, dialect openai, no auth",
        "engine    smollm2-135m-instruct: packaged model, "
        f"{threads} thread{'s' if threads > 1 else ''}, context 3072, 2 slots",
        "safety    annotates; blocks in skytells (by embedded, protected)",
        "upstream  embedded: (embedded)",
        "route     smollm2-135m-instruct -> embedded",
        "          * -> embedded/smollm2-135m-instruct",
    ]


def test_check_names_the_model_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "Tiny.gguf").write_bytes(b"GGUF")
    (folder / "antiphon.toml").write_text('[engine]\nmodel = "Tiny.gguf"\nthreads = 3\ncontext = 4096\nslots = 1\n')
    assert main(["check"]) == 0
    assert f"engine    tiny: {folder}/Tiny.gguf, 3 threads, context 4096, 1 slot\n" in capsys.readouterr().out


def test_check_does_not_name_an_engine_that_would_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTIPHON_ENGINE__ENABLED", "false")
    assert main(["check"]) == 0
    assert "engine" not in capsys.readouterr().out


def test_check_finds_the_file_of_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.toml").rename(folder / "antiphon.toml")
    assert main(["check"]) == 1
    assert capsys.readouterr().err.startswith("antiphon.toml:2: [server]: 'listen'")


@pytest.mark.parametrize("command", ["check", "serve"])
def test_bad_settings_are_told_line_by_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "-c", "bad.toml"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == FAULTS


@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_file_that_is_not_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "-c", "absent.toml"]) == 1
    assert capsys.readouterr().err == "absent.toml: cannot be read: no such file or directory\n"


def test_check_warns_of_an_open_door(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--listen", "0.0.0.0:8080"]) == 0
    out, err = capsys.readouterr()
    assert "listen    0.0.0.0:8080" in out
    assert err.startswith("warning: auth is false and 0.0.0.0:8080 can be reached from other machines")


def test_the_environment_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ANTIPHON_SERVER__LISTEN", "127.0.0.1:7")
    assert main(["check"]) == 0
    assert "listen    127.0.0.1:7\n" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"antiphon {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["check", "--help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    assert "antiphon" in capsys.readouterr().out


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "serve" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["fly"], ["check", "--fly"], ["check", "-c"], ["serve", "now"]])
def test_misuse(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: antiphon" in capsys.readouterr().err


def test_serve_runs_until_it_is_interrupted_and_leaves_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_ENGINE__ENABLED", "false")
    command = [sys.executable, "-m", "antiphon", "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()  # the banner: it listens
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=15)
        finally:
            process.kill()
    assert process.returncode in (0, 130)
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [[], [""], [" \n\t"], ["", " "], ["-f", "empty.txt"], ["-f", "blank.txt"]])
def test_judge_without_a_text(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty.txt").write_text("")
    (folder / "blank.txt").write_text("\n  \n")
    assert main(["judge", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("antiphon: nothing to judge: ")


def test_judge_says_why_a_file_cannot_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "latin.txt").write_bytes(b"\xe9")
    for name, why in (("none.txt", "No such file or directory"), ("latin.txt", "it is not UTF-8 text")):
        assert main(["judge", "-f", name]) == 1
        assert capsys.readouterr().err == f"antiphon: {name}: {why}\n"


def test_judge_prints_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "a\x1b[31m\x07 red\u202e text\udcff"]) == 0
    assert "\na\ufffd[31m\ufffd red\ufffd text\ufffd " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain" + " " * 35),
        ("漢字かな", "漢字かな" + " " * 32),
        ("ＦＵＬＬ", "ＦＵＬＬ" + " " * 32),
        ("한국어", "한국어" + " " * 34),
        ("e\u0301te\u0301", "e\u0301te\u0301" + " " * 37),  # marks take no column
        ("👍 ok", "👍 ok" + " " * 35),
        ("x" * 40, "x" * 40),
        ("x" * 41, "x" * 39 + "…"),
        ("漢" * 20, "漢" * 20),
        ("漢" * 21, "漢" * 19 + "… "),
        ("a" + "漢" * 20, "a" + "漢" * 19 + "…"),
    ],
)
def test_judge_aligns_wide_letters(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", text]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{shown}  0.")
    assert head.startswith("text" + " " * 36 + "  hate")


def test_judge_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "lines.txt").write_text("漢字\n")
    assert main(["judge", "--json", "I will kill you\udcff", "-f", "lines.txt"]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert list(first) == ["text", "stage", "hate", "self_harm", "sexual", "violence", "jailbreak"]
    assert (first["text"], first["stage"]) == ("I will kill you?", "prompt")
    assert first["violence"]["severity"] in ("medium", "high")
    assert 0.5 <= first["violence"]["score"] <= 1
    assert first["jailbreak"]["detected"] is False
    assert second["text"] == "漢字"
    assert main(["judge", "--json", "--answer", "Hello there, my friend."]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["protected_material_code"] == {"detected": False}
    assert "jailbreak" not in answer


def test_judge_ends_quietly_when_nobody_reads_on(folder: Path) -> None:
    (folder / "lines.txt").write_text("".join(f"line {number}\n" for number in range(200)))
    command = [sys.executable, "-m", "antiphon", "judge", "-f", "lines.txt"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 141


def test_without_a_folder_limits_are_not_given_up(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The gateway goes without accounts only where nothing was written of them."""
    monkeypatch.delenv("ANTIPHON_ACCOUNTS__ENABLED", raising=False)
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, "/dev/null")
    (tmp_path / "limited.toml").write_text(
        '[server]\nlisten = "127.0.0.1:0"\n[[limit]]\nname = "all"\nconcurrent = 1\n'
    )
    assert main(["serve", "-c", "limited.toml"]) == 1
    assert "antiphon: accounts cannot be kept: /dev/null/antiphon" in capfd.readouterr().err


def test_keys_for_a_gateway_that_takes_none_are_warned_about(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTIPHON_ACCOUNTS__ENABLED", "false")
    monkeypatch.setenv("ANTIPHON_ACCOUNTS__STORE", f"sqlite:///{tmp_path}/accounts.db")
    assert main(["key", "create", "--name", "app"]) == 0
    assert capsys.readouterr().err.startswith("warning: a gateway with these settings takes no issued keys")

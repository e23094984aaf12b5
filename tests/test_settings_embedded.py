"""The embedded model in the settings: when it runs, under which name, what is refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from antiphon.settings import Settings, SettingsError, TimeoutSettings, load

PROTOCOLS = ("openai", "scripted", "embedded")
UPSTREAM = '[[upstream]]\nname = "a"\nprotocol = "scripted"\n'
ROUTE = '[[route]]\nmodel = "m"\ntargets = [{ upstream = "a" }]\n'
OWN = UPSTREAM + ROUTE
WRITTEN = '[[upstream]]\nname = "local"\nprotocol = "embedded"\n'
NEEDS = '[[route]]\nmodel = "e"\ntargets = [{ upstream = "a" }, { upstream = "embedded", priority = 1 }]\n'
PACKAGED = "smollm2-135m-instruct"


def load_text(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    (folder / "antiphon.toml").write_text(text)
    return load(str(folder / "antiphon.toml"), environ or {}, PROTOCOLS)


def refuse(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_text(folder, text, environ)
    return [str(fault).replace(f"{folder}/antiphon.toml:", "") for fault in caught.value.faults]


def routes(settings: Settings) -> dict[str, list[str]]:
    return {route.model: [target.upstream for target in route.targets] for route in settings.routes}


def model_file(folder: Path, name: str = "Tiny.Chat.GGUF") -> Path:
    (folder / name).write_bytes(b"GGUF\x03\0\0\0")
    return folder / name


# When it runs.


@pytest.mark.parametrize("text", ["", "[engine]\n", "[server]\nworkers = 2\n", "upstream = []\nroute = []\n"])
def test_with_nothing_written_it_answers_everything(tmp_path: Path, text: str) -> None:
    settings = load_text(tmp_path, text)
    assert routes(settings) == {PACKAGED: ["embedded"], "*": ["embedded"]}
    assert (settings.embedded, settings.rests_on_engine) == ("embedded", True)


@pytest.mark.parametrize(
    ("text", "environ"), [("[engine]\nenabled = false\n", {}), ("", {"ANTIPHON_ENGINE__ENABLED": "off"})]
)
def test_switched_off_the_scripted_upstream_answers(tmp_path: Path, text: str, environ: dict[str, str]) -> None:
    settings = load_text(tmp_path, text, environ)
    assert routes(settings) == {"*": ["scripted"]}
    assert (settings.embedded, settings.rests_on_engine) == (None, False)


@pytest.mark.parametrize("environ", [{}, {"ANTIPHON_ENGINE__ENABLED": "false"}])
def test_who_writes_upstreams_gets_those(tmp_path: Path, environ: dict[str, str]) -> None:
    settings = load_text(tmp_path, OWN, environ)
    assert routes(settings) == {"m": ["a"]}
    assert settings.embedded is None


@pytest.mark.parametrize(
    ("text", "environ"),
    [
        (OWN + "[engine]\n", {}),
        (OWN, {"ANTIPHON_ENGINE__SLOTS": "4"}),
        (OWN + NEEDS, {}),
        (OWN, {"ANTIPHON_ROUTE__M__TARGETS": '[{ upstream = "embedded" }, { upstream = "a" }]'}),
        (OWN + WRITTEN, {}),
        (
            OWN + '[[upstream]]\nname = "local"\nprotocol = "openai"\n',
            {"ANTIPHON_UPSTREAM__LOCAL__PROTOCOL": "embedded"},
        ),
    ],
    ids=["table", "variable", "target", "target by variable", "upstream", "protocol by variable"],
)
def test_beside_others_it_runs_where_it_is_asked_for(tmp_path: Path, text: str, environ: dict[str, str]) -> None:
    settings = load_text(tmp_path, text, environ)
    (name,) = [upstream.name for upstream in settings.upstreams if upstream.protocol == "embedded"]
    assert name == ("local" if "local" in text else "embedded")
    assert routes(settings)[PACKAGED] == [name]
    assert (settings.embedded, settings.rests_on_engine) == (name, False)
    assert settings.warnings == ()


def test_a_route_of_its_name_stays_as_written(tmp_path: Path) -> None:
    text = f'{UPSTREAM}[engine]\n[[route]]\nmodel = "{PACKAGED}"\ntargets = [{{ upstream = "a" }}]\n'
    settings = load_text(tmp_path, text)
    assert routes(settings) == {PACKAGED: ["a"]}
    assert settings.embedded is None
    assert settings.warnings == ('[[upstream]] "embedded" is the target of no route.',)


def test_alone_as_a_written_upstream(tmp_path: Path) -> None:
    settings = load_text(tmp_path, WRITTEN)
    assert routes(settings) == {PACKAGED: ["local"]}
    assert settings.rests_on_engine


def test_off_and_leading_nowhere_it_does_not_run(tmp_path: Path) -> None:
    settings = load_text(tmp_path, f"{OWN}{WRITTEN}[engine]\nenabled = false\n")
    assert routes(settings) == {"m": ["a"]}
    assert settings.embedded is None


# Its name, size and patience.


def test_the_size_by_default(tmp_path: Path) -> None:
    engine = load_text(tmp_path, "").engine
    assert engine.threads == max(1, len(os.sched_getaffinity(0)) - 1)
    assert (engine.model, engine.name, engine.context, engine.slots) == (None, PACKAGED, 3072, 2)
    assert (engine.queue, engine.queue_timeout, engine.hang_after) == (64, 30.0, 10.0)


def test_another_file_answers_under_its_own_name(tmp_path: Path) -> None:
    path = model_file(tmp_path)
    settings = load_text(tmp_path, '[engine]\nmodel = "Tiny.Chat.GGUF"\n')
    assert (settings.engine.model, settings.engine.name) == (str(path), "tiny.chat")
    assert list(routes(settings)) == ["tiny.chat", "*"]
    assert settings.routes[1].targets[0].model == "tiny.chat"


def test_the_environment_names_file_and_model(tmp_path: Path) -> None:
    environ = {"ANTIPHON_ENGINE__MODEL": str(model_file(tmp_path)), "ANTIPHON_ENGINE__NAME": "mine"}
    settings = load_text(tmp_path, "", environ)
    assert settings.engine.model == environ["ANTIPHON_ENGINE__MODEL"]
    assert list(routes(settings)) == ["mine", "*"]


def test_a_relative_file_is_known_to_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "antiphon.toml").write_text('[engine]\nmodel = "./Tiny.Chat.GGUF"\n')
    assert load(None, {}, PROTOCOLS).engine.model == str(tmp_path / "Tiny.Chat.GGUF")


@pytest.mark.parametrize(
    ("written", "environ", "expected"),
    [
        ("", {}, TimeoutSettings(10.0, 900.0, 900.0, 3600.0)),
        ("timeout = { idle = 5 }\n", {}, TimeoutSettings(10.0, 900.0, 5.0, 3600.0)),
        ("", {"ANTIPHON_UPSTREAM__LOCAL__TIMEOUT__TOTAL": "7"}, TimeoutSettings(10.0, 900.0, 900.0, 7.0)),
    ],
)
def test_long_prompts_are_waited_for_unless_written_otherwise(
    tmp_path: Path, written: str, environ: dict[str, str], expected: TimeoutSettings
) -> None:
    assert load_text(tmp_path, WRITTEN + written, environ).upstreams[0].timeout == expected


def test_variables_reach_the_rows_that_nobody_wrote(tmp_path: Path) -> None:
    environ = {
        "ANTIPHON_UPSTREAM__EMBEDDED__TIMEOUT__IDLE": "5",
        "ANTIPHON_ROUTE__SMOLLM2_135M_INSTRUCT__TARGETS__0__MODEL": "x",
    }
    settings = load_text(tmp_path, OWN + "[engine]\n", environ)
    assert settings.upstreams[1].timeout.idle == 5.0
    assert settings.routes[1].targets[0].model == "x"


# What is refused.

FAULTS = [
    (
        f"{WRITTEN}url = 'http://x'\ncredential = 'env:A'\n",
        [
            "4: [[upstream]] \"local\": 'url' has no meaning here: the gateway starts the embedded model itself",
            "5: [[upstream]] \"local\": 'credential' has no meaning here: the gateway starts the embedded model itself",
        ],
    ),
    (
        WRITTEN + WRITTEN.replace("local", "second"),
        ['6: [[upstream]] "second": there is one embedded model; it is the upstream at 3'],
    ),
    (f"{OWN}{NEEDS}[engine]\nenabled = false\n", ["11: [engine]: 'enabled' is false, but [[route]] \"e\" needs it"]),
    (
        "[engine]\nenabled = false\n" + WRITTEN + ROUTE.replace('"a"', '"local"'),
        ["2: [engine]: 'enabled' is false, but [[route]] \"m\" needs it"],
    ),
    (
        OWN.replace('"a"', '"embedded"') + "[engine]\n",
        [
            "2: [[upstream]] \"embedded\": 'name' is that of the embedded model, which [engine] asks for; "
            "give this upstream another"
        ],
    ),
    (
        "[engine]\ncontext = 255\nslots = 0\nqueue = -1\nqueue_timeout = 0\nhang_after = '5s'\nname = ''\nmodle = 1\n",
        [
            "2: [engine]: 'context' must be 256 or more",
            "3: [engine]: 'slots' must be 1 or more",
            "4: [engine]: 'queue' must be 0 or more",
            "5: [engine]: 'queue_timeout' must be more than 0 seconds",
            "6: [engine]: 'hang_after' must be a number of seconds, not a string",
            "7: [engine]: 'name' must not be empty",
            "8: [engine]: unknown key 'modle'; did you mean 'model'?",
        ],
    ),
    ("[engine]\nhang_after = 0.5\n", ["2: [engine]: 'hang_after' must be at least 1 s"]),
    ("[[engine]]\n", ["1: [engine]: must be written [engine], with one bracket"]),
]


@pytest.mark.parametrize(("text", "expected"), FAULTS)
def test_faults(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert refuse(tmp_path, text, {"A": "sk-1"}) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.gguf", "refers to the file absent.gguf: no such file or directory"),
        ("folder", "refers to 'folder', which is not a file"),
        ("pipe", "refers to 'pipe', which is not a file"),
        ("picture.png", "refers to the file picture.png, which is not a GGUF model"),
        ("empty", "refers to the file empty, which is not a GGUF model"),
    ],
)
def test_model_files_that_cannot_be_used(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "empty").touch()
    assert refuse(tmp_path, f'[engine]\nslots = 1\nmodel = "{name}"\n') == [f"3: [engine]: 'model' {message}"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_model_file_that_cannot_be_read(tmp_path: Path) -> None:
    model_file(tmp_path, "closed.gguf").chmod(0)
    assert refuse(tmp_path, '[engine]\nmodel = "closed.gguf"\n') == [
        "2: [engine]: 'model' refers to the file closed.gguf: permission denied"
    ]


def test_faults_of_variables_name_them(tmp_path: Path) -> None:
    assert refuse(tmp_path, "", {"ANTIPHON_ENGINE__MODEL": "absent"}) == [
        "ANTIPHON_ENGINE__MODEL: [engine]: 'model' refers to the file absent: no such file or directory"
    ]
    assert refuse(tmp_path, OWN + NEEDS, {"ANTIPHON_ENGINE__ENABLED": "0"}) == [
        "ANTIPHON_ENGINE__ENABLED: [engine]: 'enabled' is false, but [[route]] \"e\" needs it"
    ]

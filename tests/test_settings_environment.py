"""The environment laid over the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from antiphon.settings import Address, CategorySettings, Settings, SettingsError, TargetSettings, load

FILE = """
[server]
listen = "127.0.0.1:8080"
cors = ["https://a.example"]

[[upstream]]
name = "open-ai.1"
protocol = "openai"
url = "https://api.openai.com/v1"
credential = "env:OPENAI_API_KEY"
timeout = { idle = 5 }

[[upstream]]
name = "second"
protocol = "scripted"

[[route]]
model = "gpt-4o"
targets = [{ upstream = "open-ai.1" }, { upstream = "second" }]

[[route]]
model = "*"
targets = [{ upstream = "second" }]

[[key]]
name = "app"
secret = "env:APP_KEY"

[safety]
prompt = "race"
"""
SECRETS = {"OPENAI_API_KEY": "sk-upstream", "APP_KEY": "sk-app"}


def load_with(folder: Path, text: str = FILE, listen: str | None = None, **environ: str) -> Settings:
    (folder / "antiphon.toml").write_text(text)
    return load(str(folder / "antiphon.toml"), SECRETS | environ, ("openai", "scripted", "embedded"), listen=listen)


def refuse(folder: Path, environ: Mapping[str, str], text: str = FILE) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_with(folder, text, **environ)
    return [str(fault) for fault in caught.value.faults]


def test_plain_values(tmp_path: Path) -> None:
    settings = load_with(
        tmp_path,
        ANTIPHON_SERVER__LISTEN="127.0.0.1:0",
        ANTIPHON_SERVER__MAX_BODY="1000",
        ANTIPHON_SERVER__DRAIN="0.5",
        ANTIPHON_SERVER__WORKERS="auto",
        ANTIPHON_SERVER__DIALECT='"maritaca"',
        ANTIPHON_ENGINE__NAME="2024",
        ANTIPHON_SAFETY__ENABLED="False",
        ANTIPHON_SAFETY__HOLD__TOKENS="9",
        ANTIPHON_SAFETY__HOLD__MODE="adaptive",
    )
    assert settings.server.listen == Address("127.0.0.1", 0)
    assert (settings.server.max_body, settings.server.drain, settings.server.dialect) == (1000, 0.5, "maritaca")
    assert settings.server.workers >= 1
    assert settings.engine.name == "2024"
    assert (settings.safety.hold.tokens, settings.safety.hold.mode) == (9, "adaptive")
    assert not settings.safety.enabled


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("YES", True), ("off", False), ("0", False)])
def test_switches(tmp_path: Path, text: str, value: bool) -> None:
    assert load_with(tmp_path, ANTIPHON_SERVER__STRICT=text).server.strict is value


@pytest.mark.parametrize(("text", "value"), [("every", "every"), (" every ", "every"), ("no", False), ("on", True)])
def test_a_switch_with_a_third_position(tmp_path: Path, text: str, value: bool | str) -> None:
    assert load_with(tmp_path, ANTIPHON_SAFETY__ANNOTATIONS=text).safety.annotations == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("https://b.example, https://c.example", ("https://b.example", "https://c.example")),
        ('["https://b.example"]', ("https://b.example",)),
        ("*", ("*",)),
        ("[]", ()),
    ],
)
def test_arrays(tmp_path: Path, text: str, value: tuple[str, ...]) -> None:
    assert load_with(tmp_path, ANTIPHON_SERVER__CORS=text).server.cors == value


def test_rows_are_named_by_their_names_or_positions(tmp_path: Path) -> None:
    settings = load_with(
        tmp_path,
        ANTIPHON_UPSTREAM__OPEN_AI_1__URL="http://localhost:1",
        ANTIPHON_UPSTREAM__OPEN_AI_1__TIMEOUT__CONNECT="1",
        ANTIPHON_UPSTREAM__SECOND__LACKS="n,logprobs",
        ANTIPHON_UPSTREAM__1__MAX_IDLE="3",
        ANTIPHON_ROUTE__GPT_4O__TARGETS__1__WEIGHT="7",
        ANTIPHON_ROUTE_____TARGETS='[{ upstream = "open-ai.1", model = "m" }]',
        antiphon_key__App__dialect="maritaca",
    )
    first, second = settings.upstreams
    assert first.url == "http://localhost:1"
    assert (first.timeout.connect, first.timeout.idle, first.timeout.total) == (1.0, 5.0, 1800.0)
    assert (second.lacks, second.max_idle) == (("n", "logprobs"), 3)
    assert settings.routes[0].targets[1] == TargetSettings("second", None, 7)
    assert settings.routes[1].targets == (TargetSettings("open-ai.1", "m"),)
    assert settings.keys[0].dialect == "maritaca"


def test_a_whole_table_first_then_the_keys_in_it(tmp_path: Path) -> None:
    settings = load_with(
        tmp_path,
        ANTIPHON_UPSTREAM__OPEN_AI_1__TIMEOUT="{ connect = 2, total = 9 }",
        ANTIPHON_UPSTREAM__OPEN_AI_1__TIMEOUT__TOTAL="8",
    )
    timeout = settings.upstreams[0].timeout
    assert (timeout.connect, timeout.idle, timeout.total) == (2.0, 120.0, 8.0)


def test_words_that_stand_for_tables(tmp_path: Path) -> None:
    settings = load_with(tmp_path, ANTIPHON_SAFETY__PROMPT__VIOLENCE="high")
    assert settings.safety.prompt.timing == "race"
    assert settings.safety.prompt.categories == (CategorySettings("violence", "high"),)
    text = FILE.replace('prompt = "race"', "[safety.prompt]\nhate = 'low'")
    settings = load_with(tmp_path, text, ANTIPHON_SAFETY__PROMPT="race")
    assert settings.safety.prompt.timing == "race"
    assert settings.safety.prompt.categories == (CategorySettings("hate", "low"),)


def test_secrets_may_stand_in_the_environment_itself(tmp_path: Path) -> None:
    settings = load_with(
        tmp_path,
        ANTIPHON_UPSTREAM__OPEN_AI_1__CREDENTIAL="12345",
        ANTIPHON_KEY__APP__SECRET="env:OTHER",
        OTHER="sk-other",
    )
    credential = settings.upstreams[0].credential
    assert credential is not None
    assert credential.reveal() == "12345"
    assert settings.keys[0].secret.reveal() == "sk-other"
    assert "12345" not in repr(settings)


def test_empty_variables_count_as_not_set(tmp_path: Path) -> None:
    settings = load_with(tmp_path, ANTIPHON_SERVER__LISTEN="", ANTIPHON_NO__SUCH="")
    assert settings.server.listen == Address("127.0.0.1", 8080)


def test_the_built_in_settings_can_be_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"ANTIPHON_SERVER__LISTEN": "[::1]:1", "ANTIPHON_UPSTREAM__EMBEDDED__THINK": "split"}
    settings = load(None, environ, ("scripted", "embedded"))
    assert settings.server.listen == Address("::1", 1)
    assert settings.upstreams[0].think
    environ = {"ANTIPHON_ENGINE__ENABLED": "false", "ANTIPHON_UPSTREAM__SCRIPTED__THINK": "split"}
    settings = load(None, environ, ("scripted", "embedded"))
    assert (settings.upstreams[0].name, settings.upstreams[0].think) == ("scripted", True)


def test_the_command_line_is_above_the_environment(tmp_path: Path) -> None:
    settings = load_with(tmp_path, listen="127.0.0.1:2", ANTIPHON_SERVER__LISTEN="127.0.0.1:1")
    assert settings.server.listen == Address("127.0.0.1", 2)
    with pytest.raises(SettingsError) as caught:
        load_with(tmp_path, listen="nowhere")
    assert str(caught.value) == "--listen: [server]: 'listen' must be host:port or unix:/path, not 'nowhere'"


FAULTS = [
    (
        {"ANTIPHON_SERVER__LISEN": "x"},
        ["ANTIPHON_SERVER__LISEN: names no setting; did you mean ANTIPHON_SERVER__LISTEN?"],
    ),
    ({"ANTIPHON_NO__SUCH": "x"}, ["ANTIPHON_NO__SUCH: names no setting"]),
    (
        {"ANTIPHON_UPSTREAM__THIRD__URL": "http://x"},
        ["ANTIPHON_UPSTREAM__THIRD__URL: names no setting: there is no [[upstream]] THIRD"],
    ),
    (
        {"ANTIPHON_UPSTREAM__SECOND__UR1": "http://x"},
        ["ANTIPHON_UPSTREAM__SECOND__UR1: names no setting; did you mean ANTIPHON_UPSTREAM__SECOND__URL?"],
    ),
    (
        {"ANTIPHON_SERVER_LISTEN": "x"},
        ["ANTIPHON_SERVER_LISTEN: names no setting; did you mean ANTIPHON_SERVER__LISTEN?"],
    ),
    ({"ANTIPHON_SERVER__WORKERS": "0"}, ["ANTIPHON_SERVER__WORKERS: [server]: 'workers' must be 1 or more"]),
    (
        {"ANTIPHON_SERVER__STRICT": "maybe"},
        ["ANTIPHON_SERVER__STRICT: [server]: 'strict' must be true or false, not a string"],
    ),
    (
        {"ANTIPHON_UPSTREAM__SECOND__TIMEOUT": "{ idel = 1 }"},
        [
            "ANTIPHON_UPSTREAM__SECOND__TIMEOUT: [[upstream]] \"second\": unknown key 'timeout.idel'; "
            "did you mean 'timeout.idle'?"
        ],
    ),
    (
        {"ANTIPHON_UPSTREAM__SECOND__TIMEOUT": "5s"},
        ["ANTIPHON_UPSTREAM__SECOND__TIMEOUT: must be an inline table in TOML"],
    ),
    (
        {"ANTIPHON_ROUTE__GPT_4O__TARGETS": "second"},
        ["ANTIPHON_ROUTE__GPT_4O__TARGETS: must be an array in TOML"],
    ),
    (
        {"ANTIPHON_ROUTE__GPT_4O__TARGETS": "[]\nmodel = 'x'"},
        ["ANTIPHON_ROUTE__GPT_4O__TARGETS: must be an array in TOML"],
    ),
    (
        {"ANTIPHON_ROUTE__GPT_4O__TARGETS": '[{ upstream = "third" }]'},
        ['ANTIPHON_ROUTE__GPT_4O__TARGETS: [[route]] "gpt-4o": there is no [[upstream]] named "third"'],
    ),
    (
        {
            "ANTIPHON_ROUTE__GPT_4O__TARGETS": '[{ upstream = "second" }]',
            "ANTIPHON_ROUTE__GPT_4O__TARGETS__1__WEIGHT": "2",
        },
        ["ANTIPHON_ROUTE__GPT_4O__TARGETS__1__WEIGHT: has no table to stand in: another value is in its way"],
    ),
    (
        {"ANTIPHON_SAFETY__PROMPT": "fast"},
        ["ANTIPHON_SAFETY__PROMPT: [safety]: 'prompt' must be one of gate, race, or a table, not 'fast'"],
    ),
    (
        {"ANTIPHON_SERVER__DRAIN": "1", "antiphon_server__drain": "2"},
        ["antiphon_server__drain: sets the same value as ANTIPHON_SERVER__DRAIN"],
    ),
    (
        {"ANTIPHON_KEY__APP__SECRET": "sk-live\r\nx: y"},
        ["ANTIPHON_KEY__APP__SECRET: [[key]] \"app\": 'secret' holds characters that an HTTP header cannot carry"],
    ),
    (
        {"ANTIPHON_SERVER__AUTH": "true", "ANTIPHON_SERVER__TLS": '{ cert = "no" }'},
        [
            "ANTIPHON_SERVER__TLS: [server]: 'tls.cert' refers to the file no: no such file or directory",
            "ANTIPHON_SERVER__TLS: [server]: 'tls.key' is missing",
        ],
    ),
]


@pytest.mark.parametrize(("environ", "expected"), FAULTS)
def test_faults_name_the_variable(tmp_path: Path, environ: dict[str, str], expected: list[str]) -> None:
    assert refuse(tmp_path, environ) == expected


def test_a_name_that_fits_two_rows(tmp_path: Path) -> None:
    text = FILE.replace('"second"', '"open_ai-1"')
    environ = {"ANTIPHON_UPSTREAM__OPEN_AI_1__MAX_IDLE": "1"}
    message = "names more than one; use its position instead of its name: 0 or 1"
    assert refuse(tmp_path, environ, text) == [f"ANTIPHON_UPSTREAM__OPEN_AI_1__MAX_IDLE: {message}"]
    assert load_with(tmp_path, text, ANTIPHON_UPSTREAM__1__MAX_IDLE="1").upstreams[1].max_idle == 1


def test_an_override_does_not_hide_what_is_wrong_in_the_file(tmp_path: Path) -> None:
    text = FILE.replace("timeout = { idle = 5 }", "timeout = 5")
    told = refuse(tmp_path, {"ANTIPHON_UPSTREAM__OPEN_AI_1__TIMEOUT__IDLE": "6"}, text)
    assert f"{tmp_path}/antiphon.toml:11: [[upstream]] \"open-ai.1\": 'timeout' must be a table" in told[0]


def test_variables_that_the_file_asks_for_are_no_overrides(tmp_path: Path) -> None:
    name = "ANTIPHON_UPSTREAM_OPEN_AI_1_CREDENTIAL"
    text = FILE.replace("env:OPENAI_API_KEY", f"env:{name}").replace("env:APP_KEY", "env:ANTIPHON__MINE")
    settings = load_with(tmp_path, text, **{name: "sk-1", "ANTIPHON__MINE": "sk-2"})
    assert settings.keys[0].secret.reveal() == "sk-2"


def test_variables_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    load_with(tmp_path, ANTIPHON_PORT="tcp://10.0.0.1:80", ANTIPHON_KEY="sk-client", ANTIPHON_SERVICE_HOST="10.0.0.1")

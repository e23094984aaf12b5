"""Sound settings: what a file becomes."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import FrozenInstanceError, asdict
from pathlib import Path

import pytest

from antiphon.settings import (
    Address,
    CategorySettings,
    HoldSettings,
    RouteSettings,
    Secret,
    ServerSettings,
    Settings,
    TargetSettings,
    TimeoutSettings,
    UpstreamSettings,
    load,
)
from antiphon.settings.schema import ROOT, Node, Rows, TableSchema

PROTOCOLS = ("openai", "crazyrouter", "skytells", "maritaca", "scripted", "embedded", "vllm")

# As the design shows it.
MINIMUM = """
[server]
listen = "127.0.0.1:8080"        # data plane
control = "127.0.0.1:8081"       # console, admin API, metrics
workers = 1
dialect = "openai"
auth = false                     # true: every request needs a key

[[upstream]]
name = "openai"
protocol = "openai"              # openai | azure | anthropic | gemini | skytells | maritaca | crazyrouter | …
url = "https://api.openai.com/v1"
credential = "env:OPENAI_API_KEY"

[[route]]
model = "gpt-4o"                 # what clients ask for; "*" matches any
targets = [{ upstream = "openai", model = "gpt-4o", weight = 1 }]

[safety]
enabled = true
"""

EVERYTHING = """
[server]
listen = "unix:/run/antiphon.sock"
control = "[::1]:9000"
workers = "auto"
dialect = "skytells"
auth = true
strict = true
max_body = 1000
max_body_memory = 2000
max_connections = 50
max_client_connections = 6
max_client_requests = 7
max_key_requests = 8
drain = 0
lame_duck = 0
keepalive = 1.5
header_timeout = 2
body_timeout = 3
min_body_rate = 0
request_timeout = 9
write_timeout = 4
keepalive_comment = 5
cors = ["https://App.example", "*", "*"]
access_log = "off"
error_log = "errors.log"
maritaca_object = "chat.completion"
built_in_tools = "drop"

[[upstream]]
name = "local"
protocol = "vllm"
url = "http://127.0.0.1:8000/v1/"
timeout = { connect = 1, first_byte = 2, idle = 3, total = 4 }
think = "split"
forward_headers = ["X-Tenant", "openai-organization"]
lacks = ["n", "logprobs"]
max_idle = 7
max_concurrent = 8
queue = 9
queue_timeout = 2.5
proxy = false

[[upstream]]
name = "shipped"
protocol = "scripted"

[[route]]
model = "*"

[[route.targets]]
upstream = "local"
[[route.targets]]
upstream = "shipped"
model = "m"
weight = 3
priority = 1

[[key]]
name = "app"
secret = "file:app.key"
dialect = "maritaca"
strict = false
max_requests = 0

[safety]
enabled = true
annotations = false
mode = "annotate"
preset = "strict"
threshold = "low"
hold = { tokens = 64, ms = 300 }
stream = "async"
on_failure = "closed"
[safety.prompt]
timing = "race"
violence = { threshold = "high", mode = "annotate" }
jailbreak = "filter"
[safety.answer]
threshold = "off"
hate = "low"
protected_material_code = "off"
[[safety.evaluator]]
kind = "embedded"
[[safety.evaluator]]
kind = "http"
name = "own"
url = "http://127.0.0.1:9001/judge"
credential = "env:JUDGE"
timeout = 2.5
stages = ["answer"]

[engine]
enabled = true
model = "Big-Model.Q4.gguf"
name = "big"
threads = 2
context = 8192
slots = 4
queue = 0
queue_timeout = 1.5
hang_after = 20

[accounts]
store = "postgresql://me:hunter2@db/antiphon"
counters = "redis://redis:6379/0"
"""


def load_text(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    file = folder / "antiphon.toml"
    file.write_text(text, encoding="utf-8")
    return load(str(file), environ or {}, PROTOCOLS)


@pytest.fixture
def everything(tmp_path: Path) -> Settings:
    (tmp_path / "app.key").write_text("sk-app-1\n")
    (tmp_path / "Big-Model.Q4.gguf").write_bytes(b"GGUF and more")
    return load_text(tmp_path, EVERYTHING, {"JUDGE": "sk-judge-1"})


def test_the_minimum_of_the_design_loads(tmp_path: Path) -> None:
    settings = load_text(tmp_path, MINIMUM, {"OPENAI_API_KEY": "sk-test-1"})
    assert settings.server == ServerSettings()
    assert settings.upstreams == (
        UpstreamSettings("openai", "openai", "https://api.openai.com/v1", Secret("sk-test-1")),
    )
    assert settings.routes == (RouteSettings("gpt-4o", (TargetSettings("openai", "gpt-4o"),)),)
    assert settings.safety.enabled
    assert settings.path == str(tmp_path / "antiphon.toml")
    assert settings.warnings == ()


def test_without_a_file_the_embedded_model_answers_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load(None, {}, PROTOCOLS)
    assert settings.server == ServerSettings()
    assert [(upstream.name, upstream.protocol) for upstream in settings.upstreams] == [("embedded", "embedded")]
    assert settings.routes == (
        RouteSettings("smollm2-135m-instruct", (TargetSettings("embedded"),)),
        RouteSettings("*", (TargetSettings("embedded", "smollm2-135m-instruct"),)),
    )
    assert (settings.embedded, settings.rests_on_engine, settings.warnings) == ("embedded", True, ())


def test_the_file_of_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "antiphon.toml").write_text("[server]\nstrict = true\n")
    settings = load(None, {}, PROTOCOLS)
    assert settings.server.strict
    assert settings.path == "antiphon.toml"
    assert settings.embedded == "embedded"


def test_every_server_key(everything: Settings, tmp_path: Path) -> None:
    server = everything.server
    assert server.workers >= 1
    assert (server.listen, server.control) == (Address(unix="/run/antiphon.sock"), Address("::1", 9000))
    assert (server.dialect, server.auth, server.strict) == ("skytells", True, True)
    assert (server.max_body, server.max_body_memory, server.max_connections) == (1000, 2000, 50)
    assert (server.max_client_connections, server.max_client_requests, server.max_key_requests) == (6, 7, 8)
    assert (server.lame_duck, server.min_body_rate, server.request_timeout) == (0.0, 0, 9.0)
    assert everything.keys[0].max_requests == 0
    assert (server.drain, server.keepalive, server.header_timeout) == (0.0, 1.5, 2.0)
    assert (server.body_timeout, server.write_timeout, server.keepalive_comment) == (3.0, 4.0, 5.0)
    assert server.cors == ("https://app.example", "*")
    assert (server.access_log, server.error_log) == ("off", str(tmp_path / "errors.log"))
    assert server.maritaca_object == "chat.completion"
    assert server.built_in_tools == "drop"


def test_every_upstream_route_and_key(everything: Settings) -> None:
    local, shipped, _ = everything.upstreams
    assert local == UpstreamSettings(
        name="local",
        protocol="vllm",
        url="http://127.0.0.1:8000/v1",
        timeout=TimeoutSettings(1.0, 2.0, 3.0, 4.0),
        think=True,
        forward_headers=("x-tenant", "openai-organization"),
        lacks=("n", "logprobs"),
        max_idle=7,
        max_concurrent=8,
        queue=9,
        queue_timeout=2.5,
        proxy=False,
    )
    assert (shipped.url, shipped.lacks, shipped.think) == (None, None, False)
    assert everything.routes[0].targets == (TargetSettings("local"), TargetSettings("shipped", "m", 3, 1))
    key = everything.keys[0]
    assert (key.name, key.secret.reveal(), key.dialect, key.strict) == ("app", "sk-app-1", "maritaca", False)


def test_what_belongs_to_later_parts_is_kept(everything: Settings) -> None:
    safety = everything.safety
    assert (safety.mode, safety.preset, safety.threshold) == ("annotate", "strict", "low")
    assert (safety.stream, safety.on_failure, safety.annotations) == ("async", "closed", False)
    assert safety.hold == HoldSettings(64, 300)
    assert safety.prompt.timing == "race"
    assert safety.prompt.categories == (
        CategorySettings("violence", "high", "annotate"),
        CategorySettings("jailbreak", None, "filter"),
    )
    assert safety.answer.threshold == "off"
    assert safety.answer.categories == (
        CategorySettings("hate", "low", None),
        CategorySettings("protected_material_code", None, "off"),
    )
    assert [evaluator.kind for evaluator in safety.evaluators] == ["embedded", "http"]
    assert [evaluator.name for evaluator in safety.evaluators] == ["embedded", "own"]
    assert safety.evaluators[1].timeout == 2.5
    assert safety.evaluators[1].stages == ("answer",)
    assert everything.accounts.counters == Secret("redis://redis:6379/0")


def test_every_engine_key(everything: Settings, tmp_path: Path) -> None:
    assert asdict(everything.engine) == {
        "enabled": True,
        "model": str(tmp_path / "Big-Model.Q4.gguf"),
        "name": "big",
        "threads": 2,
        "context": 8192,
        "slots": 4,
        "queue": 0,
        "queue_timeout": 1.5,
        "hang_after": 20.0,
    }
    assert everything.embedded == "embedded"
    assert not everything.rests_on_engine


@pytest.mark.parametrize("timing", ["gate", "race"])
def test_a_word_may_stand_for_the_prompt_table(tmp_path: Path, timing: str) -> None:
    assert load_text(tmp_path, f'[safety]\nprompt = "{timing}"\n').safety.prompt.timing == timing


def test_no_secret_is_ever_shown(everything: Settings) -> None:
    shown = f"{everything!r} {everything} {asdict(everything)}"
    assert "sk-app-1" not in shown
    assert "sk-judge-1" not in shown
    assert "hunter2" not in shown


def test_settings_are_frozen_hashable_and_travel_to_other_processes(everything: Settings) -> None:
    with pytest.raises(FrozenInstanceError):
        everything.server = ServerSettings()  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(everything)) == everything
    assert hash(everything) == hash(pickle.loads(pickle.dumps(everything)))


@pytest.mark.parametrize("text", ["\ufeff[server]\nworkers = 2\n", "[server]\r\nworkers = 2\r\n", "server.workers = 2"])
def test_byte_order_marks_windows_lines_and_dotted_keys_are_fine(tmp_path: Path, text: str) -> None:
    (tmp_path / "antiphon.toml").write_bytes(text.encode())
    assert load(str(tmp_path / "antiphon.toml"), {}, PROTOCOLS).server.workers == 2


@pytest.mark.parametrize(
    ("text", "address", "loopback"),
    [
        ("127.0.0.1:8080", Address("127.0.0.1", 8080), True),
        ("127.9.9.9:1", Address("127.9.9.9", 1), True),
        ("localhost:0", Address("localhost", 0), True),
        ("[::1]:65535", Address("::1", 65535), True),
        ("[::ffff:127.0.0.1]:80", Address("::ffff:127.0.0.1", 80), True),
        ("0.0.0.0:8080", Address("0.0.0.0", 8080), False),
        ("[::]:8080", Address("::", 8080), False),
        ("gateway.example:443", Address("gateway.example", 443), False),
        ("unix:/tmp/a.sock", Address(unix="/tmp/a.sock"), True),
    ],
)
def test_addresses(tmp_path: Path, text: str, address: Address, loopback: bool) -> None:
    listen = load_text(tmp_path, f'[server]\nlisten = "{text}"\n').server.listen
    assert listen == address
    assert listen.loopback is loopback
    assert str(listen) == text


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "http://localhost:8000",
        "http://[::1]:8000/v1",
        "unix:/run/engine.sock",
        "http+unix://%2Frun%2Fengine.sock/v1",
    ],
)
def test_urls(tmp_path: Path, url: str) -> None:
    settings = load_text(tmp_path, MINIMUM.replace("https://api.openai.com/v1", url), {"OPENAI_API_KEY": "k"})
    assert settings.upstreams[0].url == url


def test_an_open_door_to_other_machines_warns(tmp_path: Path) -> None:
    settings = load_text(tmp_path, '[server]\nlisten = "0.0.0.0:8080"\n')
    assert len(settings.warnings) == 1
    assert "auth is false and 0.0.0.0:8080 can be reached from other machines" in settings.warnings[0]
    assert load_text(tmp_path, '[server]\nlisten = "127.0.0.1:8080"\n').warnings == ()


def test_a_locked_door_to_other_machines_does_not_warn(tmp_path: Path) -> None:
    text = '[server]\nlisten = "0.0.0.0:8080"\nauth = true\n[[key]]\nname = "a"\nsecret = "env:A"\n'
    assert load_text(tmp_path, text, {"A": "sk-1"}).warnings == ()


def test_idle_upstreams_and_credentials_in_clear_warn(tmp_path: Path) -> None:
    text = MINIMUM.replace("https://api.openai.com", "http://api.openai.com")
    text += '\n[[upstream]]\nname = "idle"\nprotocol = "scripted"\n'
    assert load_text(tmp_path, text, {"OPENAI_API_KEY": "k"}).warnings == (
        '[[upstream]] "openai" sends its credential unencrypted: its url is http://.',
        '[[upstream]] "idle" is the target of no route.',
    )


def keys(node: Node) -> Iterator[str]:
    if isinstance(node, Rows):
        yield from keys(node.row)
    elif isinstance(node, TableSchema):
        for key, child in node.keys.items():
            yield key
            yield from keys(child)


def test_every_key_is_documented() -> None:
    page = (Path(__file__).parent.parent / "docs" / "settings.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[a-z0-9_]+", page))
    assert set(keys(ROOT)) <= words


def test_the_example_of_the_page_loads(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "settings.md").read_text(encoding="utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    assert load_text(tmp_path, example, {"OPENAI_API_KEY": "sk-1"}).routes[0].model == "gpt-4o"

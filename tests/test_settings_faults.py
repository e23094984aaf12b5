"""Settings that are refused: every fault, each with its line, none with a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.settings import SettingsError, SettingsFault, load
from antiphon.settings.schema import ROOT, Node, Rows, TableSchema

PROTOCOLS = ("openai", "crazyrouter", "skytells", "maritaca", "scripted", "embedded")
UPSTREAM = '[[upstream]]\nname = "a"\nprotocol = "scripted"\n'
ROUTE = '[[route]]\nmodel = "m"\ntargets = [{ upstream = "a" }]\n'


def refuse(folder: Path, text: str) -> list[str]:
    file = folder / "antiphon.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load(str(file), {"SECRET": "sk-1"}, PROTOCOLS)
    return [str(fault).replace(f"{folder}/antiphon.toml:", "") for fault in caught.value.faults]


SERVER_FAULTS = [
    ('lisen = "x"', "unknown key 'lisen'; did you mean 'listen'?"),
    ("port = 8080", "unknown key 'port'; did you mean 'listen'?"),
    ("zzz = 1", "unknown key 'zzz'"),
    (
        "listen = 8080",
        "'listen' must be a string such as '127.0.0.1:8080' or 'unix:/run/antiphon.sock', not an integer",
    ),
    ('listen = "localhost"', "'listen' must be host:port or unix:/path, not 'localhost'"),
    ('listen = "localhost:http"', "'listen' must be host:port or unix:/path, not 'localhost:http'"),
    ('listen = "localhost:-1"', "'listen' must be host:port or unix:/path, not 'localhost:-1'"),
    ('listen = "localhost:65536"', "'listen' has the port 65536; ports go from 0 to 65535"),
    ('listen = ":80"', "'listen' needs a host; write '0.0.0.0:80' for every IPv4 address of this machine"),
    ('listen = "::1:80"', "'listen' must write an IPv6 address in brackets: '[::1]:80'"),
    ('listen = "a b:80"', "'listen' has 'a b', which is no host name or address"),
    ('listen = "http://x:80"', "'listen' has 'http://x', which is no host name or address"),
    ('listen = "unix:"', "'listen' says 'unix:' without a usable path"),
    (f'listen = "unix:/{"x" * 107}"', "'listen' has a socket path longer than 107 bytes, the system's limit"),
    ('control = ""', "'control' must be host:port or unix:/path, not ''"),
    ("workers = 0", "'workers' must be 1 or more"),
    ("workers = -1", "'workers' must be 1 or more"),
    ("workers = 1.0", "'workers' must be an integer, not a number"),
    ("workers = true", "'workers' must be an integer, not a boolean"),
    ('workers = "many"', "'workers' must be an integer or 'auto', not 'many'"),
    (
        'dialect = "opnai"',
        "'dialect' must be one of openai, crazyrouter, skytells, maritaca, not 'opnai'; did you mean 'openai'?",
    ),
    ("dialect = []", "'dialect' must be a string, not an array"),
    ('auth = "yes"', "'auth' must be true or false, not a string"),
    (
        "auth = true\n[accounts]\nenabled = false",
        "'auth' is true but there is no [[key]], so every request would be refused",
    ),
    ("strict = 1", "'strict' must be true or false, not an integer"),
    ("max_body = 0", "'max_body' must be 1 or more"),
    ('max_body = "20MB"', "'max_body' must be an integer, not a string"),
    ("max_body_memory = 0", "'max_body_memory' must be 1 or more"),
    ("max_body_memory = 1000", "'max_body_memory' must be 'max_body' (20971520) or more"),
    ("max_upload = 0", "'max_upload' must be 1 or more"),
    ('max_upload = "1 GB"', "'max_upload' must be an integer, not a string"),
    ("max_client_connections = -1", "'max_client_connections' must be 0 or more"),
    ("max_client_requests = 1.5", "'max_client_requests' must be an integer, not a number"),
    ('max_key_requests = "10"', "'max_key_requests' must be an integer, not a string"),
    ("lame_duck = -1", "'lame_duck' must be 0 or more seconds"),
    ("min_body_rate = true", "'min_body_rate' must be an integer, not a boolean"),
    ("request_timeout = 0", "'request_timeout' must be more than 0 seconds"),
    ("max_connections = 1979-05-27", "'max_connections' must be an integer, not a date"),
    ("drain = -1", "'drain' must be 0 or more seconds"),
    ("drain = nan", "'drain' must be 0 or more seconds"),
    ("keepalive = 0", "'keepalive' must be more than 0 seconds"),
    ("write_timeout = inf", "'write_timeout' must be 31536000 seconds or less"),
    ('header_timeout = "5s"', "'header_timeout' must be a number of seconds, not a string"),
    ("body_timeout = false", "'body_timeout' must be a number of seconds, not a boolean"),
    ('cors = "*"', "'cors' must be an array of strings, not a string"),
    ("cors = [1]", "'cors[0]' must be a string, not an integer"),
    (
        'cors = ["https://a.example/"]',
        "'cors[0]' must hold '*' or origins such as 'https://app.example', without a path, not 'https://a.example/'",
    ),
    ('tls = "cert.pem"', "'tls' must be a table with cert, key, client_ca, client_auth, not a string"),
    ("access_log = false", "'access_log' must be '-', 'off' or the path of a file, not a boolean"),
    ('built_in_tools = "x"', "'built_in_tools' must be one of refuse, drop, not 'x'"),
    ('maritaca_object = "x"', "'maritaca_object' must be one of chat_completion, chat.completion, not 'x'"),
]


@pytest.mark.parametrize(("line", "message"), SERVER_FAULTS)
def test_server(tmp_path: Path, line: str, message: str) -> None:
    assert refuse(tmp_path, f"# comment\n[server]\n\n{line}\n") == [f"4: [server]: {message}"]


UPSTREAM_FAULTS = [
    ('ur1 = "https://x"', "unknown key 'ur1'; did you mean 'url'?"),
    ('base_url = "https://x"', "unknown key 'base_url'; did you mean 'url'?"),
    ('api_key = "sk-live-1"', "unknown key 'api_key'; did you mean 'credential'?"),
    ("credential = 1", "'credential' must be a string, not an integer"),
    ('offers = "files"', "'offers' must be an array of strings, not a string"),
    (
        'offers = ["file"]',
        "'offers[0]' must be one of completions, embeddings, responses, images/generations, images/edits, "
        "images/variations, audio/speech, audio/transcriptions, audio/translations, rerank, moderations, files, "
        "batches, not 'file'; did you mean 'files'?",
    ),
    ('url = ""', "'url' must begin with http:// or https:// (or unix:/path, for a socket)"),
    ('url = "api.openai.com/v1"', "'url' must begin with http:// or https:// (or unix:/path, for a socket)"),
    ('url = "ftp://x/"', "'url' must begin with http:// or https:// (or unix:/path, for a socket)"),
    ('url = "https://"', "'url' is not a URL with a usable host and port"),
    ('url = "https://x:99999"', "'url' is not a URL with a usable host and port"),
    ('url = "https://[::1/v1"', "'url' is not a URL with a usable host and port"),
    ('url = "https://x y/"', "'url' must not hold spaces or control characters"),
    ('url = "https://me:sk-live-1@x/v1"', "'url' must not hold a user or password; use 'credential'"),
    ('url = "https://sk-live-1@x/v1"', "'url' must not hold a user or password; use 'credential'"),
    ('url = "https://x/v1?key=sk-live-1"', "'url' must end with its path, without '?' or '#'"),
    ('url = "https://x/v1/chat/completions"', "'url' must be the base URL, without /chat/completions"),
    (f'url = "unix:/{"x" * 107}"', "'url' has a socket path longer than 107 bytes, the system's limit"),
    ("timeout = 5", "'timeout' must be a table with connect, first_byte, idle, total, not an integer"),
    ("timeout.idel = 5", "unknown key 'timeout.idel'; did you mean 'timeout.idle'?"),
    ("timeout = { idle = 0 }", "'timeout.idle' must be more than 0 seconds"),
    ('think = "slit"', "'think' must be one of split, off, not 'slit'; did you mean 'split'?"),
    (
        'forward_headers = ["Host"]',
        "'forward_headers[0]' must not name 'host', which is not the client's to set upstream",
    ),
    (
        'forward_headers = ["authorization"]',
        "'forward_headers[0]' must not name 'authorization', which is not the client's to set upstream",
    ),
    (
        'forward_headers = ["x", "Transfer-Encoding"]',
        "'forward_headers[1]' must not name 'transfer-encoding', which is not the client's to set upstream",
    ),
    ('forward_headers = ["a b"]', "'forward_headers[0]' has 'a b', which is no header name"),
    ('lacks = "n"', "'lacks' must be an array of strings, not a string"),
    ('lacks = ["N!"]', "'lacks[0]' must name request parameters, such as 'n' or 'logprobs', not 'N!'"),
    ("max_idle = -1", "'max_idle' must be 0 or more"),
    ("max_concurrent = 0", "'max_concurrent' must be 1 or more"),
    ("queue = 5", "'queue' does nothing without 'max_concurrent'"),
    ("queue_timeout = 5", "'queue_timeout' does nothing without 'max_concurrent'"),
    ('proxy = "http://p"', "'proxy' must be true or false, not a string"),
]


@pytest.mark.parametrize(("line", "message"), UPSTREAM_FAULTS)
def test_upstream(tmp_path: Path, line: str, message: str) -> None:
    told = refuse(tmp_path, f"{UPSTREAM}{line}\n{ROUTE}")
    assert told == [f'4: [[upstream]] "a": {message}']
    assert "sk-live" not in told[0]


DOCUMENT_FAULTS = [
    ('[[upstream]]\nname = "a"\nprotocol = "opnai"\nurl = "http://x"\n' + ROUTE, [
        "3: [[upstream]] \"a\": 'protocol' must be one of crazyrouter, embedded, maritaca, openai, scripted, skytells, "
        "not 'opnai'; did you mean 'openai'?"
    ]),
    ('[[upstream]]\nurl = "http://x"\n', [
        "1: [[upstream]] 1: 'name' is missing",
        "1: [[upstream]] 1: 'protocol' is missing",
        "1: [[upstream]] 1: no [[route]] leads here: nothing would be answered",
    ]),
    ('[[upstream]]\nname = "a"\n' + ROUTE, [
        "1: [[upstream]] \"a\": 'protocol' is missing",
        "1: [[upstream]] \"a\": 'url' is missing",
    ]),
    ('[[upstream]]\nname = ""\nprotocol = "scripted"\n' + ROUTE.replace('"a"', '"b"'), [
        "2: [[upstream]] 1: 'name' must not be empty",
        '6: [[route]] "m": there is no [[upstream]] named "b"',
    ]),
    ('[[upstream]]\nname = " a"\nprotocol = "scripted"\n' + ROUTE, [
        "2: [[upstream]] \" a\": 'name' must not hold control characters, nor spaces at its ends",
        '6: [[route]] "m": there is no [[upstream]] named "a"',
    ]),
    (UPSTREAM + UPSTREAM + ROUTE, ["5: [[upstream]] \"a\": 'name' is taken; the first one is at 2"]),
    (UPSTREAM + ROUTE + ROUTE, ["8: [[route]] \"m\": 'model' is taken; the first one is at 5"]),
    (UPSTREAM + UPSTREAM.replace('"a"', '"b"'), [
        '1: [[upstream]] "a": no [[route]] leads here: nothing would be answered'
    ]),
    (UPSTREAM + '[[route]]\nmodel = "m"\n', ["4: [[route]] \"m\": 'targets' is missing"]),
    (UPSTREAM + '[[route]]\nmodel = "m"\ntargets = []\n', [
        "6: [[route]] \"m\": 'targets' needs at least 1 entry, such as { upstream = \"…\" }"
    ]),
    (UPSTREAM + '[[route]]\nmodel = "m"\ntargets = ["a"]\n', [
        "6: [[route]] \"m\": 'targets[0]' must be a table with upstream, model, weight, priority, not a string"
    ]),
    (UPSTREAM + '[[route]]\nmodel = "m"\ntargets = [\n { upstream = "a" },\n { upstream = "b", weigth = 1 },\n]\n', [
        "8: [[route]] \"m\": unknown key 'targets[1].weigth'; did you mean 'targets[1].weight'?",
        '8: [[route]] "m": there is no [[upstream]] named "b"',
    ]),
    (UPSTREAM + '[[route]]\nmodel = "gpt"\ntargets = [{ upstream = "a", model = "gpt-*" }]\n', [
        "6: [[route]] \"gpt\": 'model' holds '*', which stands for what the route's own '*' does; "
        "the route must have one"
    ]),
    (UPSTREAM + '[[route]]\nmodel = "a*b*"\ntargets = [{ upstream = "a", model = "gpt-*" }]\n', [
        "6: [[route]] \"a*b*\": 'model' holds '*', which stands for what the route's own '*' does; "
        "the route must have one"
    ]),
    (UPSTREAM + '[[route]]\nmodel = "gpt-*"\ntargets = [{ upstream = "a", model = "*-*" }]\n', [
        "6: [[route]] \"gpt-*\": 'targets[0].model' must not hold more than one '*'"
    ]),
    (UPSTREAM + '[[route]]\nmodel = "m"\n[[route.targets]]\nupstream = "a"\nweight = 0\npriority = -1\n', [
        "8: [[route]] \"m\": 'targets[0].weight' must be 1 or more",
        "9: [[route]] \"m\": 'targets[0].priority' must be 0 or more",
    ]),
    (ROUTE, ['3: [[route]] "m": there is no [[upstream]] named "a"']),
    ('[[route]]\ntargets = [{ model = "x" }]\n', [
        "1: [[route]] 1: 'model' is missing",
        "2: [[route]] 1: 'targets[0].upstream' is missing",
    ]),
    ('[[key]]\nname = "k"\nsecret = "sk-live-1"\n', [
        "3: [[key]] \"k\": 'secret' must be written env:NAME or file:PATH: secrets do not stand in the settings file"
    ]),
    ('[[key]]\nname = "k"\nsecret = "env:SECRET"\ndialect = "x"\nstrict = 1\n'
     '[[key]]\nname = "k"\nsecret = "env:NO"\n', [
        "4: [[key]] \"k\": 'dialect' must be one of openai, crazyrouter, skytells, maritaca, not 'x'",
        "5: [[key]] \"k\": 'strict' must be true or false, not an integer",
        "7: [[key]] \"k\": 'name' is taken; the first one is at 2",
        "8: [[key]] \"k\": 'secret' refers to the environment variable NO, which is not set",
    ]),
    ('[server]\nlisten = "127.0.0.1:1"\ncontrol = "127.0.0.1:1"\n', [
        "3: [server]: 'control' must not be the same address as 'listen'"
    ]),
    ('[server]\nmax_body = 5000\nmax_body_memory = 4999\n', [
        "3: [server]: 'max_body_memory' must be 'max_body' (5000) or more"
    ]),
    ('[[key]]\nname = "k"\nsecret = "env:SECRET"\nmax_requests = -1\n', [
        "4: [[key]] \"k\": 'max_requests' must be 0 or more"
    ]),
    ("\n[upstream]\n", ["2: [[upstream]]: must be written [[upstream]], with two brackets"]),
    ("\n[[server]]\n", ["2: [server]: must be written [server], with one bracket"]),
    ("route = 1\n", ["1: [[route]]: must be tables"]),
    ("route = [1]\n", ["1: [[route]] 1: must be a table with model, targets, safety, not an integer"]),
    ("server = 1\n", ["1: [server]: must be a table, not an integer"]),
    ("[servr]\n", ["1: unknown table 'servr'; did you mean 'server'?"]),
    ("[[upstreams]]\n", ["1: unknown table 'upstreams'; did you mean 'upstream'?"]),
    ('listen = "x"\n', ["1: unknown key 'listen'; it belongs under [server]"]),
    ('credential = "x"\n', ["1: unknown key 'credential'; it belongs under [[upstream]]"]),
    ("nothing.at.all = 1\n", ["1: unknown table 'nothing'"]),
    ("[safety]\nhold = { token = 1, ms = 0 }\n", [
        "2: [safety]: unknown key 'hold.token'; did you mean 'hold.tokens'?",
        "2: [safety]: 'hold.ms' must be 1 or more",
    ]),
    ('[safety]\nannotations = "all"\nhold = { mode = "none" }\n', [
        "2: [safety]: 'annotations' must be true, false or 'every', not 'all'",
        "3: [safety]: 'hold.mode' must be one of full, adaptive, not 'none'",
    ]),
    ("[[key]]\nsafety = { annotations = 1 }\n", [
        "1: [[key]] 1: 'name' is missing",
        "1: [[key]] 1: 'secret' is missing",
        "2: [[key]] 1: 'safety.annotations' must be true, false or 'every', not an integer",
    ]),
    ('[safety]\nprompt = "gat"\n', [
        "2: [safety]: 'prompt' must be one of gate, race, or a table, not 'gat'; did you mean 'gate'?"
    ]),
    ('[safety.prompt]\nprotected_material_code = "off"\njailbreak = "high"\n\nviolence = { mode = "x" }\n', [
        "2: [safety]: unknown key 'prompt.protected_material_code'",
        "3: [safety]: 'prompt.jailbreak' must be one of filter, annotate, off, or a table, not 'high'",
        "5: [safety]: 'prompt.violence.mode' must be one of filter, annotate, not 'x'",
    ]),
    ('[safety]\nmax_text = 0\ntoo_long = "cut"\n', [
        "2: [safety]: 'max_text' must be 1 or more",
        "3: [safety]: 'too_long' must be one of refuse, unjudged, not 'cut'",
    ]),
    ('[safety]\nmode = "x"\npreset = "x"\nthreshold = "safe"\nstream = "x"\non_failure = "x"\n', [
        "2: [safety]: 'mode' must be one of filter, annotate, not 'x'",
        "3: [safety]: 'preset' must be one of strict, enterprise, child_safe, moderate, minimal, "
        "annotate-only, annotate_only, not 'x'",
        "4: [safety]: 'threshold' must be one of low, medium, high, off, not 'safe'",
        "5: [safety]: 'stream' must be one of hold, async, not 'x'",
        "6: [safety]: 'on_failure' must be one of open, closed, not 'x'",
    ]),
    ('[[safety.evaluator]]\nurl = "http://x"\n[[safety.evaluator]]\nkind = "htp"\n', [
        "1: [safety]: 'evaluator[0].kind' is missing",
        "4: [safety]: 'evaluator[1].kind' must be one of embedded, openai, azure, chat, rules, protected, http, "
        "not 'htp'; did you mean 'http'?",
    ]),
    ("[engine]\nthreads = 0\nmodel = 1\n[accounts]\nstore = 1\nstor = 2\n", [
        "2: [engine]: 'threads' must be 1 or more",
        "3: [engine]: 'model' must be the path of a GGUF file, not an integer",
        "5: [accounts]: 'store' must be a URL, env:NAME or file:PATH, not an integer",
        "6: [accounts]: unknown key 'stor'; did you mean 'store'?",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), DOCUMENT_FAULTS)
def test_documents(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert refuse(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[server]\nlisten = \n", 2),
        ("[server]\nlisten 1\n", 2),
        ("[server]\n\n[server]\n", 3),
        ("[server]\nauth = true\nauth = true\n", 3),
        ("[server]\nlisten = 'x\n", 2),
        ("[server]\ncors = [1,\n2\n", 3),
        ("[server]\nworkers = tru\n", 2),
        ("[server\n", 1),
    ],
)
def test_what_is_no_toml_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    (told,) = refuse(tmp_path, text)
    assert re.match(rf"{line}: this is not TOML: \S", told), told
    assert "at line" not in told


@pytest.mark.parametrize("text", ["a = " + "[" * 50_000, f"a = {'9' * 5000}"])
def test_monsters_are_refused(tmp_path: Path, text: str) -> None:
    assert len(refuse(tmp_path, text)) == 1


def test_everything_wrong_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = f'[server]\nworkers = 0\ndialect = "x"\nfoo = 1\n{UPSTREAM}ur1 = ""\nthink = 1\n{ROUTE}[bar]\n'
    lines = [int(told.partition(":")[0]) for told in refuse(tmp_path, text)]
    assert lines == [2, 3, 4, 8, 9, 13]


# Whatever TOML holds: settings, or faults; nothing else.


def test_of_thousands_of_faults_each_one_has_its_line(tmp_path: Path) -> None:
    """Names are compared with others for the first ones only."""
    routes = [f'[[route]]\nmodel = "m{n}"\ntargets = [{{ upstream = "aa{n}" }}]\n' for n in range(2000)]
    wanted = "".join(f'"x{n}",\n' for n in range(2000))
    lists = f'[[safety.evaluator]]\nkind = "embedded"\nroutes = [\n{wanted}]\n'
    found = refuse(tmp_path, '[[upstream]]\nname = "aa"\nprotocol = "scripted"\n' + "".join(routes) + lists)
    assert len(found) == 4000
    for n in range(2000):
        line = f'{6 + 3 * n}: [[route]] "m{n}": there is no [[upstream]] named "aa{n}"'
        assert found[n].removesuffix("; did you mean 'aa'?") == line
        assert found[2000 + n].startswith(f'{6007 + n}: [safety]: there is no [[route]] "x{n}"')
    assert found[0].endswith("; did you mean 'aa'?")


def names(node: Node) -> Iterator[str]:
    if isinstance(node, Rows):
        yield from names(node.row)
    elif isinstance(node, TableSchema):
        for key, child in node.keys.items():
            yield key
            yield from names(child)


KEYS = st.sampled_from(sorted({*names(ROOT), "x"}))
TEXTS = st.one_of(
    st.sampled_from(
        ["openai", "scripted", "embedded", "*", "a:1", "unix:/x", "https://x", "http://[", "env:A", "file:/", "race"]
    ),
    st.text(max_size=8),
)
PLAIN = st.one_of(TEXTS, st.integers(), st.booleans(), st.floats())
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def write(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        plain = "".join(char if char.isalnum() or char in " :/*[]._-" else f"\\U{ord(char):08x}" for char in value)
        return f'"{plain}"'
    if isinstance(value, list):
        return f"[{', '.join(write(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {write(item)}" for key, item in value.items()) + "}"
    return repr(value)


def faults_of(file: Path, environ: Mapping[str, str]) -> tuple[SettingsFault, ...]:
    try:
        load(str(file), environ, PROTOCOLS)
    except SettingsError as error:
        return error.faults
    return ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(KEYS, st.one_of(VALUES, st.dictionaries(KEYS, VALUES, max_size=5)), max_size=5),
    st.dictionaries(st.sampled_from(["ANTIPHON_SERVER__LISTEN", "ANTIPHON_UPSTREAM__0__URL", "ANTIPHON_X__Y"]), TEXTS),
)
def test_any_toml_is_settings_or_faults(tmp_path: Path, document: dict[str, object], environ: dict[str, str]) -> None:
    file = tmp_path / "antiphon.toml"
    file.write_text("".join(f"{key} = {write(value)}\n" for key, value in document.items()), encoding="utf-8")
    for fault in faults_of(file, environ):
        assert re.match(r".*antiphon\.toml:\d+$|ANTIPHON_", fault.where)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_settings_or_faults(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "antiphon.toml"
    file.write_bytes(data)
    for fault in faults_of(file, {}):
        assert re.search(r"antiphon\.toml:\d+$", fault.where)

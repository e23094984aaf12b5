"""The engine dies, hangs, is asked too much, or cannot be had: clients are told, and it comes back."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.engine import Gateway, descendants, running, until

CHAT = "/v1/chat/completions"
SETTINGS = """
[engine]
hang_after = 2
queue = 2
queue_timeout = 20
"""


def story(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Tell me a long story."}], **more}


@pytest.fixture(scope="module")
def fragile(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("fragile"), SETTINGS) as gateway:
        yield gateway


class Streaming:
    """A stream read in a thread of its own."""

    def __init__(self, gateway: Gateway, **more: Any) -> None:
        self.payloads: list[Any] = []
        self.begun = threading.Event()
        self.status = 0
        self._url = gateway.url + CHAT
        self._body = story(stream=True, logit_bias={"2": -100}, **more)  # it may not end by itself
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with httpx2.stream("POST", self._url, json=self._body, timeout=60) as answer:
            self.status = answer.status_code
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    self.begun.set()
                    self.payloads.append(line[6:])
        self.begun.set()

    def end(self) -> list[Any]:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return [payload if payload == "[DONE]" else json.loads(payload) for payload in self.payloads]


def answers(gateway: Gateway) -> bool:
    return httpx2.post(gateway.url + CHAT, json=story(max_tokens=1), timeout=60).status_code == 200


def ready(gateway: Gateway) -> bool:
    return httpx2.get(gateway.url + "/readyz").status_code == 200


def test_a_crash_is_told_in_band_the_queue_waits_and_the_engine_comes_back(fragile: Gateway) -> None:
    running = [Streaming(fragile) for _ in range(2)]  # both slots
    for stream in running:
        assert stream.begun.wait(30)
    waiting = Streaming(fragile, max_tokens=2)
    time.sleep(0.2)
    native = fragile.native()
    os.kill(native, signal.SIGKILL)
    for stream in running:
        *_, error, done = stream.end()
        assert done == "[DONE]"
        assert error["error"]["type"] == "server_error"
        assert "restarted" in error["error"]["message"]
    payloads = waiting.end()
    assert waiting.status == 200, payloads
    assert payloads[-1] == "[DONE]"
    assert not any("error" in payload for payload in payloads[:-1])
    assert fragile.native() != native
    assert ready(fragile)
    assert "was ended by SIGKILL" in fragile.stderr


def test_an_engine_without_progress_is_killed_and_comes_back(fragile: Gateway) -> None:
    assert answers(fragile)
    stream = Streaming(fragile)
    assert stream.begun.wait(30)
    native = fragile.native()
    os.kill(native, signal.SIGSTOP)
    *_, error, done = stream.end()
    assert done == "[DONE]"
    assert "restarted" in error["error"]["message"]
    assert answers(fragile)
    assert fragile.native() != native
    assert "made no progress for 2 s" in fragile.stderr


def test_a_second_crash_while_it_loads_is_no_reason_to_give_up(fragile: Gateway) -> None:
    assert answers(fragile)
    os.kill(fragile.native(), signal.SIGKILL)
    time.sleep(0.2)  # its successor takes half a second to load
    os.kill(fragile.native(), signal.SIGKILL)
    waiting = Streaming(fragile, max_tokens=1)
    assert waiting.end()[-1] == "[DONE]"
    assert waiting.status == 200


def test_megabytes_are_refused_before_the_engine_hears_of_them(fragile: Gateway) -> None:
    native = fragile.native()
    for path, key, value in (
        (CHAT, "messages", [{"role": "user", "content": "a" * 5_000_000}]),
        ("/v1/completions", "prompt", " " * 5_000_000),
        ("/v1/embeddings", "input", ["short", "hello world " * 400_000]),
    ):
        refused = httpx2.post(fragile.url + path, json={"model": "m", key: value}, timeout=60)
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == "context_length_exceeded"
    assert fragile.native() == native


def test_an_idle_engine_is_not_taken_for_a_hanging_one(fragile: Gateway) -> None:
    assert answers(fragile)
    native = fragile.native()
    time.sleep(3.0)  # longer than hang_after
    assert fragile.native() == native


def test_more_than_the_queue_holds_is_refused_with_a_time_to_come_back(fragile: Gateway) -> None:
    running = [Streaming(fragile, max_tokens=150) for _ in range(2)]
    for stream in running:
        assert stream.begun.wait(30)
    waiting = [Streaming(fragile, max_tokens=1) for _ in range(2)]
    time.sleep(0.3)
    refused = httpx2.post(fragile.url + CHAT, json=story(), timeout=60)
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    assert int(refused.headers["retry-after"]) >= 1
    for stream in [*running, *waiting]:
        assert stream.end()[-1] == "[DONE]"


def leave(gateway: Gateway, body: dict[str, Any], after: float) -> None:
    """Asks, and closes the connection after some seconds, whatever has come by then."""
    host, port = gateway.url.removeprefix("http://").split(":")
    payload = json.dumps(body).encode()
    with socket.create_connection((host, int(port))) as wire:
        wire.sendall(
            b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (CHAT.encode(), len(payload)) + payload
        )
        time.sleep(after)


@pytest.mark.parametrize("prompt", ["Tell me a long story.", "word " * 2500], ids=["speaking", "reading the prompt"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_slot_also_while_the_prompt_is_read(
    fragile: Gateway, prompt: str, stream: bool
) -> None:
    """Clients that leave have taken both slots. Who comes next must not wait for the ends of their answers."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": prompt}],
        "stream": stream,
        "logit_bias": {"2": -100},
    }
    leaving = [threading.Thread(target=leave, args=(fragile, body, 1.0)) for _ in range(2)]
    for thread in leaving:
        thread.start()
    for thread in leaving:
        thread.join()
    began = time.monotonic()
    assert answers(fragile)
    assert time.monotonic() - began < 10  # reading one of the prompts alone takes longer


def test_a_long_prompt_does_not_hold_up_a_running_stream(embedded: Gateway) -> None:
    """On a patient gateway: on a busy machine one batch of a prompt may take two seconds."""
    stream = Streaming(embedded, max_tokens=150)
    assert stream.begun.wait(30)
    before = len(stream.payloads)
    long = {"model": "m", "messages": [{"role": "user", "content": "word " * 1000}], "max_tokens": 1}
    assert httpx2.post(embedded.url + CHAT, json=long, timeout=60).status_code == 200
    assert len(stream.payloads) > before + 10  # it went on while the prompt was read, in some sixteen batches
    stream.end()


def test_the_journal_is_kept_and_private(fragile: Gateway) -> None:
    secret = "xyzzy-plugh-4711"
    body = {"model": "m", "messages": [{"role": "user", "content": secret}], "max_tokens": 2}
    assert httpx2.post(fragile.url + CHAT, json=body, timeout=60).status_code == 200
    log = until(lambda: fragile.journal.read_text() if fragile.journal.exists() else None)
    assert "model loaded" in log
    assert secret not in log
    assert fragile.journal.stat().st_mode & 0o077 == 0


def corrupt(directory: Path) -> Path:
    path = directory / "corrupt.gguf"
    path.write_bytes(b"GGUF" + bytes(range(256)) * 64)
    return path


def test_a_corrupt_model_is_named_and_the_gateway_runs_without_it(tmp_path: Path) -> None:
    path = corrupt(tmp_path)
    with running(tmp_path, f"[engine]\nmodel = {json.dumps(str(path))}\n") as gateway:
        health = httpx2.get(gateway.url + "/readyz")
        assert health.status_code == 503
        assert "corrupt.gguf" in health.json()["reason"]
        refused = httpx2.post(gateway.url + CHAT, json=story())
        assert refused.status_code == 503
        assert "corrupt.gguf" in refused.json()["error"]["message"]
        assert int(refused.headers["retry-after"]) >= 1
        assert httpx2.get(gateway.url + "/healthz").status_code == 200
        assert gateway.stderr.count("no embedded engine") == 1
        assert "Traceback" not in gateway.stderr


def test_beside_other_upstreams_a_missing_engine_is_named_but_the_gateway_is_ready(tmp_path: Path) -> None:
    settings = f"""
[engine]
model = {json.dumps(str(corrupt(tmp_path)))}
[[upstream]]
name = "scripted"
protocol = "scripted"
[[route]]
model = "other"
targets = [{{ upstream = "scripted" }}]
"""
    with running(tmp_path, settings) as gateway:
        health = until(lambda: found if "corrupt" in (found := httpx2.get(gateway.url + "/readyz")).text else None)
        assert health.status_code == 200
        assert httpx2.post(gateway.url + CHAT, json=story(model="other")).status_code == 200


def test_a_model_put_in_its_place_is_found_without_a_restart(model_file: Path, tmp_path: Path) -> None:
    model = corrupt(tmp_path)
    with running(tmp_path, f"[engine]\nmodel = {json.dumps(str(model))}\n") as gateway:
        assert not ready(gateway)
        draft = tmp_path / "draft"
        draft.symlink_to(model_file)
        draft.replace(model)
        until(lambda: ready(gateway), 20)
        assert answers(gateway)
        assert "ready again" in gateway.stderr


def test_sigterm_to_every_process_drains(model_file: Path, tmp_path: Path) -> None:
    """As systemd does it: the workers finish their answers, and the engine outlives them."""
    with running(tmp_path) as gateway:
        stream = Streaming(gateway, max_tokens=60)
        assert stream.begun.wait(30)
        for pid in [gateway.pid, *descendants(gateway.pid)]:
            os.kill(pid, signal.SIGTERM)
        *_, last, done = stream.end()
        assert done == "[DONE]"
        assert last["choices"][0]["finish_reason"] in ("stop", "length")


def test_files_of_the_current_directory_are_not_run(model_file: Path, tmp_path: Path) -> None:
    for name in ("xllamacpp", "msgspec", "antiphon"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken from the current directory')\n")
    with running(tmp_path) as gateway:  # its current directory
        assert answers(gateway)
        assert "current directory" not in gateway.stderr


def test_nothing_is_left_when_the_gateway_ends(model_file: Path, tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        native = gateway.native()
        assert answers(gateway)
    until(lambda: not Path(f"/proc/{native}").exists(), 5)


def test_the_native_engine_ends_with_a_gateway_that_was_killed(model_file: Path, tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        native = gateway.native()
        os.kill(gateway.pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{native}").exists(), 10)

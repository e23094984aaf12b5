"""Credentials that expire: fetched by the keeper, read by workers, sent upstream. Token endpoints are real sockets."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from antiphon.credentials import kept
from antiphon.credentials.keeper import keep_fresh, until_next
from antiphon.credentials.sources import AwsProfile, EntraClient, Fetched, FetchError, GoogleAccount
from antiphon.upstreams.scripted import Received, Script, ScriptedUpstream, json_answer
from tests.support.foreign import base, row, settings
from tests.support.gateway import gateway
from tests.support.process import serving, until
from tests.support.raw import Answer, call

Document = dict[str, Any]
Serve = Callable[..., Awaitable[ScriptedUpstream]]
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Good day"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    async with AsyncExitStack() as stack:

        async def start(answer: Callable[[Received], Script]) -> ScriptedUpstream:
            fake = ScriptedUpstream(answer)
            await fake.start()
            stack.push_async_callback(fake.stop)
            return fake

        yield start


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def account_file(folder: Path, key: rsa.RSAPrivateKey, token_uri: str) -> Path:
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "account.json"
    account = {"type": "service_account", "client_email": "bot@p.test", "private_key_id": "k1", "token_uri": token_uri}
    file.write_text(json.dumps({**account, "private_key": key.private_bytes(*form).decode()}))
    return file


async def answered(ask: Callable[[], Awaitable[Answer]], status: int) -> Answer:
    """Asks until this is the status: workers look for new credentials once a second."""
    async with asyncio.timeout(15):
        while True:
            answer = await ask()
            if answer.status == status:
                return answer
            await asyncio.sleep(0.05)


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


async def test_google_gets_a_signed_assertion(tmp_path: Path, serve: Serve, key: rsa.RSAPrivateKey) -> None:
    fake = await serve(lambda _: json_answer({"access_token": "ya29.a", "expires_in": 3599, "token_type": "Bearer"}))
    uri = base(fake) + "/token"
    source = GoogleAccount(str(account_file(tmp_path, key, uri)))
    assert await asyncio.to_thread(source.fetch) == Fetched({"token": "ya29.a"}, 3599.0)
    form = parse_qs(fake.requests[0].body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    header, claims, signature = form["assertion"][0].split(".")
    assert json.loads(decoded(header)) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    said = json.loads(decoded(claims))
    assert (said["iss"], said["aud"], said["exp"] - said["iat"]) == ("bot@p.test", uri, 3600)
    assert abs(said["iat"] - time.time()) < 60
    key.public_key().verify(
        decoded(signature), f"{header}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )  # raises where it is wrong


async def test_entra_gets_the_clients_secret(serve: Serve) -> None:
    fake = await serve(lambda _: json_answer({"access_token": "eyJ0", "expires_in": 60}))
    source = EntraClient("t", "app", "s&cret", base(fake) + "/t/oauth2/v2.0/token")
    assert await asyncio.to_thread(source.fetch) == Fetched({"token": "eyJ0"}, 60.0)
    form = parse_qs(fake.requests[0].body.decode())
    assert (form["client_id"], form["client_secret"]) == (["app"], ["s&cret"])
    assert form["scope"] == ["https://cognitiveservices.azure.com/.default"]
    assert "s&cret" not in repr(source)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (json_answer({"error": "invalid_client", "error_description": "s3cret is wrong"}, 401), "401 (invalid_client)"),
        (json_answer({"expires_in": 5}), "without a token"),
        (json_answer({"access_token": "a\nb"}), "without a token"),
        (json_answer(b"<html>"), "could not be asked"),
    ],
)
async def test_what_is_no_token_is_a_fault_without_secrets(serve: Serve, answer: Script, words: str) -> None:
    fake = await serve(lambda _: answer)
    with pytest.raises(FetchError) as caught:
        await asyncio.to_thread(EntraClient("t", "app", "s3cret", base(fake)).fetch)
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


async def test_a_file_that_is_no_account_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "account.json"
    for text in ("", "{}", '{"client_email": "a", "private_key": "no key"}'):
        file.write_text(text)
        with pytest.raises(FetchError):
            GoogleAccount(str(file), "http://127.0.0.1:9/").fetch()


def test_aws_finds_what_botocore_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("botocore")
    file = tmp_path / "credentials"
    file.write_text("[team]\naws_access_key_id = AKID\naws_secret_access_key = s3cret\naws_session_token = tok\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    values = {"access_key_id": "AKID", "secret_access_key": "s3cret", "session_token": "tok"}
    assert AwsProfile("team").fetch().values == values
    with pytest.raises(FetchError):
        AwsProfile("nobody").fetch()


async def test_the_keeper_fetches_anew_before_the_end_and_after_a_failure(tmp_path: Path, serve: Serve) -> None:
    answers = iter([json_answer({}, 500), json_answer({"access_token": "one", "expires_in": 1.3}), *[None] * 9])
    last = json_answer({"access_token": "two", "expires_in": 3600})
    fake = await serve(lambda _: next(answers) or last)
    file, lines = str(tmp_path / "c.json"), list[str]()
    task = asyncio.create_task(keep_fresh(EntraClient("t", "a", "s3cret", base(fake)), file, "up", lines.append))
    seen = kept.Kept(file)
    assert seen.look() is None
    await until(lambda: kept.Kept(file).look() == {"token": "one"})
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    await until(lambda: kept.Kept(file).look() == {"token": "two"})
    task.cancel()
    await until(lambda: seen.look() == {"token": "two"})
    assert len(lines) == 1
    assert "up: no new credential: the token endpoint answered 500" in lines[0]


def test_when_it_is_fetched_anew() -> None:
    assert until_next(Fetched({}, 3600)) == 3300
    assert until_next(Fetched({}, 100)) == 80
    assert until_next(Fetched({}, -5)) == 1


async def test_what_has_expired_is_not_sent(tmp_path: Path, serve: Serve) -> None:
    fake = await serve(lambda _: json_answer(MESSAGE))
    entra = 'tenant_id = "t"\nclient_id = "c"\nclient_secret = "env:S"\n'
    text = settings(
        row("anthropic-azure", base(fake), more=entra), targets='[{ upstream = "up", model = "claude-opus-5-5" }]'
    )
    file = kept.file_of(str(tmp_path), 0)
    async with gateway(tmp_path, text, {"S": "s3cret"}) as running:
        answer = await running.post()
        assert (answer.status, answer.json["error"]["code"]) == (503, "credential_unavailable")
        assert not fake.requests
        kept.write(file, {"token": "fresh-token"}, time.time() + 60)
        await answered(running.post, 200)
        assert fake.requests[-1].headers["authorization"] == "Bearer fresh-token"
        assert "api-key" not in fake.requests[-1].headers
        kept.write(file, {"token": "stale-token"}, time.time() - 1)
        await answered(running.post, 503)
        assert all(request.headers["authorization"] != "Bearer stale-token" for request in fake.requests)


async def test_keys_of_aws_are_taken_up_when_they_change(tmp_path: Path, serve: Serve) -> None:
    pytest.importorskip("botocore")
    output = {"message": {"role": "assistant", "content": [{"text": "Hi"}]}}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    fake = await serve(lambda _: json_answer({"output": output, "stopReason": "end_turn", "usage": usage}))
    aws = 'region = "eu-west-1"\nprofile = "team"\n'
    text = settings(
        row("bedrock", base(fake), more=aws), targets='[{ upstream = "up", model = "amazon.nova-pro-v1:0" }]'
    )
    file = kept.file_of(str(tmp_path), 0)
    kept.write(file, {"access_key_id": "AKID1", "secret_access_key": "one"}, time.time() + 60)
    async with gateway(tmp_path, text) as running:
        assert (await running.post()).status == 200
        kept.write(
            file, {"access_key_id": "AKID2", "secret_access_key": "two", "session_token": "tok"}, time.time() + 60
        )
        async with asyncio.timeout(10):
            while "Credential=AKID2/" not in fake.requests[-1].headers["authorization"]:
                assert (await running.post()).status == 200
                await asyncio.sleep(0.05)
        assert fake.requests[0].headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID1/")
        assert fake.requests[-1].headers["x-amz-security-token"] == "tok"


async def test_a_whole_gateway_with_a_service_account(tmp_path: Path, serve: Serve, key: rsa.RSAPrivateKey) -> None:
    """Processes and all. A keeper that dies is replaced."""
    tokens = await serve(lambda _: json_answer({"access_token": "ya29.b", "expires_in": 3600}))
    fake = await serve(lambda _: json_answer(MESSAGE))
    file = account_file(tmp_path, key, base(tokens) + "/token")
    vertex = row("anthropic-vertex", base(fake) + "/v1/projects/p/locations/eu", more=f'service_account = "{file}"\n')
    text = settings(
        vertex, targets='[{ upstream = "up", model = "claude-opus-5-5" }]', more="[safety]\nenabled = false\n"
    )
    async with serving(tmp_path, text.replace('error_log = "off"', 'error_log = "-"')) as process:
        await process.ready()
        ask = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        answer = await answered(lambda: call(process.port, "POST", "/v1/chat/completions", ask), 200)
        assert answer.json["choices"][0]["message"]["content"] == "Good day"
        assert fake.requests[-1].headers["authorization"] == "Bearer ya29.b"
        asked = len(tokens.requests)
        worker_and_keeper = process.children()
        assert len(worker_and_keeper) == 2
        for pid in worker_and_keeper:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: len(tokens.requests) > asked)
        process.process.send_signal(signal.SIGTERM)
        assert await process.ended() == 0

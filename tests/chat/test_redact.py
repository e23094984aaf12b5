"""What must not reach a client, and what must reach it unharmed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.redact import redact

HEX = "0123456789abcdef0123456789abcdef"

HOSTS = [
    "https://api.internal.example.com/v1?key=1",
    "http://vllm:8000/v1/chat/completions",
    "http+unix://x/y",
    "https://user:hunter2@proxy.example/v1",
    "wss://a.b/c",
    "postgres://root:pw@db/x",
    "api.openai.com",
    "API.OPENAI.COM",
    "api.internal.example",
    "api.internal.example:8443",
    "openai.com",
    "my-resource.openai.azure.com",
    "vllm-0.pods.svc.cluster.local:8000",
    "vllm.default.svc",
    "gpu7.lan",
    "ip-10-0-12-7.ec2.internal",
    "ip-10-0-12-7",
    "build.example.co.uk",
    "api.maritaca.com.br/v1/models",
    "llm.firma.de",
    "api.vendor.in",
    "inference.foo.bar:8080",
    "localhost:8080",
    "localhost",
    "my-host:8000",
    "gpu-box-2:443",
    "10.1.2.3",
    "10.1.2.3:443",
    "192.168.0.255",
    "[::1]:8000",
    "::1",
    "::1:11434",
    "[::]:8080",
    "fe80::1ff:fe23:4567:890a",
    "fe80::1%eth0",
    "2001:db8:0:0:0:0:0:1",
    "2001:db8::8a2e:370:7334",
    "::ffff:10.0.0.1",
]

KEYS = [
    "sk-proj-abcdefghij0123456789",
    "sk-abc***xyz",
    "sk-ant-api03-AbCdEf-GhI_jkl",
    "sk-or-v1-" + HEX * 2,
    "gsk_AbCdEfGhIjKlMnOpQrStUvWx",
    "xai-AbCdEfGhIjKlMnOpQrStUvWx1234",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
    "nvapi-AbCdEfGhIjKlMnOpQrStUvWx",
    "pplx-abcdef0123456789abcdef0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1",
    "AIzaSyA0123456789abcdef",
    "ya29.a0AfH6SMBx-abcdefghijk",
    "xoxb-123456789012-abcdefghijkl",
    "Bearer abcdefghijkl",
    "bearer abcdefghijkl0",
    "Basic dXNlcjpwYXNzd29yZA==",
    "Key 100088405895477835072_a0f4ef3e8ce2c9a3",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc",
    HEX,
    HEX.upper(),
    HEX * 2,
    "Zm9vYmFyYmF6MTIzNDU2Nzg5MGFiY2RlZmdoaWprbA==",
    "q7Zt_x93-LmPa0VbN4yKd8Rw_2HsJc6E",
    "org-0123456789abc",
    "org-AbCdEfGhIjKlMnOpQrStUvWx",
    "proj_Ab12Cd34Ef56Gh",
]

PAIRS = [
    ("api_key=hunter2", "hunter2"),
    ('api_key: "hunter two"', "hunter"),
    ('"api_key":"my-odd-key"', "my-odd-key"),
    ("API key: my-odd-key", "my-odd-key"),
    ("Incorrect API key provided: my-odd-key", "my-odd-key"),
    ("x-api-key: abcd-efgh", "abcd-efgh"),
    ("Authorization: Token abcdef", "abcdef"),
    ("password='open sesame'", "sesame"),
    ("client_secret=abcdefgh", "abcdefgh"),
    ("key=abcdef1", "abcdef1"),
    ("?token=abcdef1&x=2", "abcdef1"),
    ("access_token: abcdefgh", "abcdefgh"),
    ("token: 9f8e7d6c5b4a39281706", "9f8e7d6c5b4a39281706"),
    ("HTTPConnectionPool(host='vllm', port=8000)", "vllm"),
    ("Cannot connect to host vllm:8000 ssl:default", "vllm"),
    ("dial tcp: lookup vllm on 10.0.0.2:53: no such host", "vllm"),
    ("connection to ollama:11434 refused", "ollama"),
    ("Could not resolve host: vllm", "vllm"),
    ("-----BEGIN PRIVATE KEY----- MIIabc -----END PRIVATE KEY-----", "MIIabc"),
    ("root@gpu7.internal", "gpu7"),
]

ORDINARY = [
    # as they came from users
    '{"limit":400}',
    "key_value_pairs",
    "Unexpected token: '<think>'",
    "call_" + HEX,
    "get_current_weather_for_location_x1_and_more",
    "'meta.info'",
    "messages.0.content.1.in",
    "1:2:3:4",
    "qwen2.5:14",
    "12:30:45",
    "max_tokens:4096",
    "main.py",
    # paths of fields
    "'messages[2].content[0].type'",
    "tools.0.function.parameters.properties.io",
    "response.body.output.text",
    "stream_options.include_usage",
    "json_schema.schema.properties.user.info",
    "body -> messages -> 0 -> content",
    "api_key_name, token_count, key_path, org_name, hf_config, pk_field, sk_learn",
    "host_name and hostname",
    # models
    "claude-3-5-sonnet-20241022",
    "meta-llama/Llama-3.3-70B-Instruct",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
    "accounts/fireworks/models/llama-v3p1-405b-instruct",
    "anthropic.claude-3-5-sonnet-20241022-v2:0",
    "us.amazon.nova-pro-v1:0",
    "black-forest-labs/FLUX.1-dev",
    "unsloth/DeepSeek-R1-Distill-Qwen-32B-GGUF:Q4_K_M",
    "Qwen3-30B-A3B-Instruct-2507-FP8-MLX-4bit",
    "hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q8_0",
    "ft:gpt-4o-mini-2024-07-18:my-org:suffix:9abCdEf",
    "gpt-oss:120b, llama3.2:70b, mistral-small:24b, pplx-70b-online, z-ai/glm-4.5-air",
    # numbers, times and places in code
    "temperature=0.7, top_p=0.95, seed=123456789012345678901234567890123456789",
    "2026-01-02T12:30:45.123Z and 12:30:45,123",
    "server.py:1024, main.cc:80, serving_chat.py:120",
    "std::string, torch::cat, c10::Error, a::b, [1::2], [::-1], x[::2]",
    "version 1.2.3, CUDA 12.4, v1.2.3.4, driver 535.104.5.1",
    "changed to max_tokens:4096, from line:1024, to gpt4:12",
    "3:1, 16:9, line 3:14, max-tokens:4096, content-length:2048",
    "aa:bb:cc:dd:ee:ff",
    # JSON
    '{"type":"function","function":{"name":"get_weather","arguments":"{\\"city\\":\\"Paris\\"}"}}',
    '{"key":"value","token":"<s>","host":null,"id":7}',
    '{"prompt_tokens":12,"completion_tokens":3456,"total_tokens":3468}',
    # ids
    "chatcmpl-" + HEX,
    "chatcmpl-tool-" + HEX,
    "req_" + HEX,
    "srvtoolu_01WYG3ziw53XMcoyKL4XcZmEabc",
    "123e4567-e89b-12d3-a456-426614174000",
    # prose
    "Unexpected token: 'function_name' at position 12",
    "KeyError: 'content'; missing key: messages; Key messages.0.content is required",
    "Token 151643 is out of vocabulary; Key error",
    "You didn't provide an API key. The api_key: must be a string; api_key is None",
    "Basic authentication, Bearer authentication and bearer tokens; Basic functionality",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (max_tokens:4096).",
    "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an integer.",
    "That is not supported.In addition, see failed.Net result. e.g. this, i.e. that",
    "ChatCompletionMessageToolCallParamWithAdditionalFields1",
    "write to support@vendor.com",
    "openai.types.chat.chat_completion, transformers.models.llama, Node.js, package.json",
    "请求过多 → später",
    "<|im_start|>assistant<|im_end|>",
    "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t",
    "x-request-id, application/json; charset=utf-8, text/event-stream",
]


@pytest.mark.parametrize("secret", [*HOSTS, *KEYS])
@pytest.mark.parametrize("frame", ["cannot reach {} now", "cannot reach '{}' now", "cannot reach ({}), now", "{}"])
def test_hosts_and_keys_go(secret: str, frame: str) -> None:
    assert redact(frame.format(secret)) == frame.format("[redacted]")


@pytest.mark.parametrize("secret", [secret for secret in [*HOSTS, *KEYS] if " " not in secret])
def test_they_go_from_json_and_at_the_end_of_a_sentence(secret: str) -> None:
    for text in (f'{{"detail":"failed: {secret}","status":500}}', f"It failed at {secret}."):
        told = redact(text)
        assert secret not in told
        assert "[redacted]" in told
        assert told[:8] == text[:8]
        assert told[-1] == text[-1]


@pytest.mark.parametrize(("text", "secret"), PAIRS)
def test_what_is_called_a_secret_goes(text: str, secret: str) -> None:
    told = redact(f"It said: {text} (really)")
    assert secret not in told
    assert told.startswith("It said: ")
    assert told.endswith("(really)")


@pytest.mark.parametrize("text", ORDINARY)
def test_what_helps_stays(text: str) -> None:
    assert redact(text) == text
    assert redact(f"Invalid value: {text} (see the docs)") == f"Invalid value: {text} (see the docs)"


def test_bounds_and_control_characters() -> None:
    assert len(redact("word " * 5000)) <= 2000
    assert redact("a\x00b\r\nc\x85d\ud800") == "a b c d\ufffd"
    assert redact("it is hunter-two!", ["hunter-two"]) == "it is [redacted]!"


@pytest.mark.parametrize(
    "piece", ["a.", "a-", "1:", "::", "a1", "key=", "Bearer ", "://", "sk-", "_", "[", "/a1B", "\n"]
)
def test_no_text_takes_long(piece: str) -> None:
    start = time.perf_counter()
    redact(piece * 8000)
    assert time.perf_counter() - start < 0.5


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    redact(text).encode()

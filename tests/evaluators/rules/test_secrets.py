from __future__ import annotations

import pytest

from antiphon.evaluators.rules.rules import Rules
from antiphon.evaluators.rules.secrets import BUILT_IN, iban, luhn
from antiphon.safety.verdict import Stage

RULES = Rules(list(BUILT_IN.values()))

# Put together here, so that scanners of repositories do not take them for real ones.
TOKENS = [
    "AKIA" + "IOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY",
    "gh" + "p_" + "a1B2" * 9,
    "github" + "_pat_" + "a1B2" * 20,
    "glp" + "at-" + "a1B2" * 5,
    "xox" + "b-123456789012-abcdef",
    "sk" + "_live_" + "a1B2" * 6,
    "sk-" + "proj-" + "a1B2" * 10 + "T3BlbkFJ" + "a1B2" * 10,
    "sk-" + "proj-" + "a_B-" * 12,
    'password = "hunter2' + 'hunter2"',
    "DB_PASSWORD=hunter2" + "hunter2",
    "password: hunter2" + "hunter2.",
    '{"passwd": "correct-horse-' + 'battery"}',
    '{\\"api_key\\": \\"f00dfeedf00d' + 'feed\\"}',
    "secret: str = 'Tr0ub4dor" + "&3'",
    "if token == 'a8f5f167f44f4964" + "e6c998dee827110c':",
    "token := `x`; token = 9f86d081884c7d65" + "9a2feaa0",
    "sk-" + "ant-api03-" + "a1B2" * 23,
    "AI" + "za" + "a1B2c" * 7,
    "hf" + "_" + "abCD" * 9,
    "-----BEGIN OPENSSH PRIVATE KEY" + "-----",
    "-----BEGIN PRIVATE KEY" + "-----",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
    "postgres://admin:hunter22" + "@db.example.org/x",
]
PERSONAL = [
    "4111 1111 1111 1111",
    "5555-5555-5555-4444",
    "378282246310005",
    "DE89 3704 0044 0532 0130 00",
    "GB82WEST12345698765432",
    "jane.doe+x@mail.example.org",
]
HARMLESS = [
    "4111 1111 1111 1112",
    "DE88 3704 0044 0532 0130 00",
    "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "call 1234 5678 9012 3456",
    "https://example.org:8080/a@b",
    "@decorator",
    "AKIA",
    "-----BEGIN PUBLIC KEY-----",
    "git@github:user",
    'password = "<password>"',
    'password = "xxxxxxxxxxxx"',
    "password = '************'",
    'password = "${DB_PASSWORD}"',
    "password = $DB_PASSWORD12",
    'secret = "env:APP_KEY"',
    'token = "your-token-here"',
    "password = get_password(user1, host2)",
    "token = tokenizer2.decode(ids22)",
    "password: required, at least 8 characters",
    "max_tokens = 1234567890",
    "password: Optional[str] = None",
    "token: 12345",
    "the secret: be patient",
]


def lists(text: str) -> tuple[str, ...]:
    return RULES.judge([f"Here: {text}, as asked."], Stage.ANSWER)[0].lists


@pytest.mark.parametrize("text", TOKENS)
def test_secrets(text: str) -> None:
    assert "secrets" in lists(text)


@pytest.mark.parametrize("text", PERSONAL)
def test_personal(text: str) -> None:
    assert lists(text) == ("personal",)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless(text: str) -> None:
    assert lists(text) == ()


def test_a_wrong_number_does_not_hide_a_right_one() -> None:
    assert lists("4111 1111 1111 1112 or 4111 1111 1111 1111") == ("personal",)


def test_a_stream_holds_back_little_for_them() -> None:
    span = RULES.longest()
    assert span is not None
    assert span <= 350


def test_check_digits() -> None:
    assert luhn("79927398713")
    assert not luhn("79927398710")
    assert iban("FR14 2004 1010 0505 0001 3M02 606")
    assert not iban("FR14 2004 1010 0505 0001 3M02 607")

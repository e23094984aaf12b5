"""Lists that are built in: `secrets` (what opens doors) and `personal` (what names a person or an account).

A row matches as soon as enough of a token has come, not at its end: a stream holds back as much as a match may span.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from antiphon.evaluators.rules.rule_list import Check, Rule, RuleList

# A value that says only that there is one: <password>, ${VAR}, ****, your-token-here, env:NAME.
PLACEHOLDER: Final = re.compile(
    r"[<>{}]|\*{3}|\.{3}|^[$%]|^(?:env|file):|x{4}|(.)\1{5}"
    r"|your|example|placeholder|redacted|change.?me|insert|dummy|password|passwd|secret|token",
    re.I,
)
QUOTED: Final = re.compile(r"""(\\?["'])([^"'\s]+?)\1$""")
BARE: Final = re.compile(r"([A-Za-z0-9+/_!@#$%^&*~-]{8,})\.?[^.]?$")


def assigned(text: str) -> bool:
    """Whether a value is more than a placeholder. One without quotes may be a name in a program: it needs digits."""
    if quoted := QUOTED.search(text):
        return not PLACEHOLDER.search(quoted[2])
    bare = BARE.search(text)
    return bare is not None and sum(map(str.isdigit, bare[1])) >= 2 and not PLACEHOLDER.search(bare[1])


NAMED: Final = (
    r"(?i:password|passwd|passphrase|secret|token|api[_-]?key|(?:secret|access)[_-]?key)"
    r"(?:\\?[\"'])?(?: ?: ?\w{1,16})?[ \t]{0,3}(?::=|=>|={1,3}|:)[ \t]{0,3}"
)
ASSIGNED: Final = (
    ("password", NAMED + r"""\\?["'][!#-&(-~]{8,100}["']"""),
    ("password", NAMED + r"""[A-Za-z0-9][A-Za-z0-9+/_!@#$%^&*~-]{7,63}\.?(?:[ \t\r\n,;"'`)\]}<]|\z)"""),
)
SECRETS: Final = (
    ("AWS access key", r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z2-7]{16}\b"),
    ("AWS secret key", r"(?i:aws[ -~]{0,20}secret[ -~]{0,20}[:=][ -~]{0,3})\b[A-Za-z0-9/+]{40}\b"),
    ("GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36}"),
    ("GitHub fine-grained token", r"\bgithub_pat_[A-Za-z0-9_]{80}"),
    ("GitLab token", r"\bgl(?:pat|dt|rt|ptt|ft)-[A-Za-z0-9_-]{20}"),
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10}"),
    ("Slack webhook", r"https://hooks\.slack\.com/services/T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{20}"),
    ("Stripe key", r"\b[rs]k_live_[A-Za-z0-9]{20}"),
    ("OpenAI key", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,180}T3BlbkFJ[A-Za-z0-9_-]{20}"),
    ("OpenAI key", r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40}"),
    ("Anthropic key", r"\bsk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{80}"),
    ("Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("Google OAuth secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{34}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{50}"),
    ("Docker token", r"\bdckr_[op]at_[A-Za-z0-9_-]{27}"),
    ("DigitalOcean token", r"\bdo[oprt]_v1_[a-f0-9]{64}\b"),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    ("Mailgun key", r"\bkey-[a-f0-9]{32}\b"),
    ("Twilio key", r"\bSK[a-f0-9]{32}\b"),
    ("Telegram bot token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    ("Azure storage key", r"\bAccountKey=[A-Za-z0-9+/]{86}=="),
    ("Hashicorp Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{90}"),
    ("Shopify token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    ("Age secret key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
    ("JSON web token", r"\beyJ[A-Za-z0-9_-]{10,160}\.eyJ[A-Za-z0-9_-]{10}"),
    ("private key", r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----"),
    (
        "password in a URL",
        r"\b[a-z][a-z0-9+.-]{1,20}://[\w.~%!$&'()*+,;=-]{1,64}:[\w.~%!$&'()*+,;=-]{3,100}@[A-Za-z0-9]",
    ),
)


def luhn(text: str) -> bool:
    digits = [int(letter) for letter in reversed(text) if letter.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def iban(text: str) -> bool:
    """ISO 13616: the first four characters moved to the end, letters as numbers, leaves 1 modulo 97."""
    plain = "".join(text.split())
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


PERSONAL: Final[tuple[tuple[str, str, Check | None], ...]] = (
    ("card number", r"\b(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6(?:011|5\d{2}))[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}\b", luhn),
    ("card number", r"\b3[47]\d{2}[ -]?\d{6}[ -]?\d{5}\b", luhn),
    ("bank account", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", iban),
    (
        "e-mail address",
        r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,3}\.[A-Za-z]{2,24}\b",
        None,
    ),
)

BUILT_IN: Final[Mapping[str, RuleList]] = MappingProxyType(
    {
        "secrets": RuleList(
            "secrets",
            patterns=(
                *(Rule(source, what) for what, source in SECRETS),
                *(Rule(source, what, assigned, at_end=True) for what, source in ASSIGNED),
            ),
        ),
        "personal": RuleList("personal", patterns=tuple(Rule(source, what, check) for what, source, check in PERSONAL)),
    }
)

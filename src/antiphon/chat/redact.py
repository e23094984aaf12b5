"""A vendor's words made fit for a client: no hosts, addresses, keys or control characters [vendor-words-redacted].

What a client needs to mend its request must stay: names of models, fields and files, JSON, numbers, times, ids. So each
rule is a pattern that finds candidates and, where the pattern alone cannot tell, a judge that looks at them: `key=` is
followed by a secret, `key:` mostly is not; `api.vendor.in` is a host, `messages.0.in` is a field.
Every repetition is bounded, so that no message costs more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

REDACTED: Final = "[redacted]"
LIMIT: Final = 2_000

Judge = Callable[[re.Match[str]], bool]

# Endings of hosts. The first ones make two labels a host already (`openai.com`, `gpu7.lan`); those of nets of one's own
# are never part of anything else; and some are English words or names of fields before they are countries.
_STRONG: Final = re.compile("com|net|org|io|ai|cn|dev|cloud|edu|gov|local|localdomain|internal|intranet|lan|corp")
_OWN: Final = re.compile("local|localdomain|internal|intranet|lan|corp|svc|example")
_WEAK: Final = re.compile(
    "app|biz|co|example|gg|invalid|mil|ph|sh|site|svc|tech|test|xyz|at|au|be|br|ca|ch|cl|cz|de|dk|es|eu|fi|fr|hk|ie|il"
    "|it|jp|kr|mx|nl|no|nz|pl|pt|ru|se|sg|tr|tw|ua|uk|vn|za"
)
_WORDS: Final = re.compile("in|info|is|me|my|so|to|us")
# Public hubs that are part of a model's name.
_HUBS: Final = ("hf.co/", "huggingface.co/")

# What stands before `:1234` in code and messages and is no host: ends of file names, and what is counted.
_COUNTED: Final = re.compile(
    "c|cc|cpp|cu|cuh|cxx|go|h|hpp|html|java|js|json|jsx|log|lua|md|mjs|php|pl|py|rb|rs|sh|toml|ts|tsx|txt|ya?ml"
    "|code|count|error|id|length|limit|line|max|min|size|status|tokens?"
)
# After `api_key:` these begin a sentence, and after `Basic` they end one: no secrets.
_PROSE: Final = re.compile(
    "are|but|cannot|empty|expected|expired|false|fields?|headers?|invalid|missing|must|none|null|undefined|please"
    "|required|should|string|that|this|true|value|were|with"
)
_SCHEMES: Final = re.compile("auth(?:entication|orization)?|credentials?|functionality|headers?|information|schemes?")

# Ids tell a client which of its calls or answers is meant.
_ID: Final = re.compile(
    r"(?:asst|batch|call|chatcmpl|chatcmpl-tool|cmpl|fc|file|msg|req|resp|rs|run|srvtoolu|thread|tool|toolu)[-_][A-Za-z0-9]+"
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
)
_HEX: Final = re.compile(r"(?=[0-9]*[A-Fa-f])(?=[A-Fa-f]*[0-9])[0-9A-Fa-f]+")
# Capitals at the head of a word are no change.
_CHANGE: Final = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")


# Judges


def _is_mixed(text: str) -> bool:
    """Random? There letters, capitals and digits take turns; in words and numbers a person wrote, they rarely do."""
    return len(_CHANGE.findall(text)) * 5 >= len(text)


def _is_random(match: re.Match[str]) -> bool:
    text = match["random"]
    return _ID.fullmatch(text) is None and (_HEX.fullmatch(text) is not None or _is_mixed(text))


def _is_named_secret(match: re.Match[str]) -> bool:
    return match["quote"] != "" or _PROSE.fullmatch(match["value"].lower()) is None


def _is_credential(match: re.Match[str]) -> bool:
    """After Bearer or Basic."""
    word = match["credential"]
    if _SCHEMES.fullmatch(word.lower()) or word.lower().startswith("realm="):
        return False
    return match["scheme"].lower() == "bearer" or _is_mixed(word)


def _is_assigned(match: re.Match[str]) -> bool:
    return not match["assigned"].isdigit()


def _is_host(match: re.Match[str]) -> bool:
    labels = match["name"].split(".")
    ending = labels[-1].lower()
    if labels[-1] not in (ending, ending.upper()) or match[0].startswith(_HUBS):
        return False  # the former is a sentence without its space: "failed.Net result"
    if _OWN.fullmatch(ending) is None and (match["at"] or any(label.isdigit() for label in labels)):
        return False  # somebody's address, or the path of a field: messages.0.content
    if _STRONG.fullmatch(ending):
        return True
    if _WEAK.fullmatch(ending):
        return len(labels) > 2 or bool(match["port"] or match["path"])
    sure = len(labels) > 2 and (labels[0].lower() in ("api", "www") or "-" in match["name"])
    return _WORDS.fullmatch(ending) is not None and (sure or bool(match["port"]))


def _is_host_and_port(match: re.Match[str]) -> bool:
    last = re.split("[._-]", match["box"])[-1]
    if _COUNTED.fullmatch(last.lower()) or match["box"].rpartition(".")[2].isdigit():
        return False
    return len(match["port"]) > 3 or match["port"] in ("80", "443")


def _is_ipv4(match: re.Match[str]) -> bool:
    try:
        IPv4Address(match["ipv4"])
    except AddressValueError:
        return False
    return True


def _is_ipv6(match: re.Match[str]) -> bool:
    address = match["ipv6"]
    try:
        IPv6Address(address)
    except AddressValueError:
        return False
    if address == "::":
        return match[0][-1].isdigit()  # any address, and a port
    groups = [group for group in address.split(":") if group]
    # Slices ([1::2]) and names in C++ (a::b) are addresses to the letter.
    return address == "::1" or len(groups) > 2 or len(groups[0]) == 4


# Order matters: what names its secret first, then keys that show what they are, hosts and addresses, and last what only
# looks random. `kept` is what may stay of a match.
_RULES: Final[tuple[tuple[str, Judge | None], ...]] = (
    (r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?", None),
    (r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>)\]}]{1,2000}(?<![.,;:!?])", None),
    (r"(?i)\b(?P<scheme>Bearer|Basic)\s{1,3}(?P<credential>[A-Z0-9._~+/=*-]{8,2000})(?<![.])", _is_credential),
    (
        r"\b(?:Key|Token)\s{1,3}(?=[A-Za-z_-]{0,200}\d)(?=[0-9_-]{0,200}[A-Za-z])[A-Za-z0-9_-]{12,2000}(?![\w.])",
        None,
    ),
    (
        r"(?i)(?<![A-Z0-9])(?P<kept>(?:(?:x[-_])?api[-_ ]?key(?:\sprovided)?|authorization|passw(?:or)?d|credential"
        r"|(?:client[-_]?|aws[-_]?)?secret(?:[-_]?(?:access[-_]?)?key)?|access[-_]?key(?:[-_]?id)?|private[-_]?key"
        r"|(?:access|auth|bearer|refresh|session)[-_]?token|(?<![-_])host(?:name)?)"
        r"\\?[\"']?\s{0,3}[=:]\s{0,3}(?P<quote>\\?[\"']?))"
        r"(?P<value>(?<=[\"'])[^\"'\\]{2,2000}|(?<![\"'])[^\s\"'\\,;()\[\]{}<>]{3,2000}(?<![.])(?:(?<=Token)\s\S{4,2000})?)",
        _is_named_secret,
    ),
    (r"(?i)\b(?P<kept>(?:key|token)=)(?P<assigned>[A-Z0-9][A-Z0-9._~+/-]{5,2000})(?<![.])", _is_assigned),
    (
        r"(?i)\b(?P<kept>(?:key|token)\\?[\"']?\s{0,3}:\s{0,3}\\?[\"']?)(?P<random>[A-Z0-9_-]{16,2000})(?![\w.])",
        _is_random,
    ),
    (r"\bsk-[A-Za-z0-9*][A-Za-z0-9_*-]{3,2000}", None),
    (
        r"\b(?:gsk_|xai-|hf_|gh[opsu]_|github_pat_|pplx-|nvapi-|glpat-|r8_|fw_|csk-|tvly-|xox[abeprs]-|GOCSPX-)"
        r"(?=[A-Za-z0-9*]{12})[A-Za-z0-9_*-]{12,2000}",
        None,
    ),
    (r"\b(?:(?:AKIA|ASIA)[0-9A-Z]{12,100}\b|AIza[A-Za-z0-9_-]{10,100}|ya29\.[A-Za-z0-9_-]{8,2000})", None),
    (r"\beyJ[A-Za-z0-9_-]{8,2000}(?:\.[A-Za-z0-9_-]{1,2000}){0,2}", None),
    (r"\b(?:key|org|pk|proj|rk|sess)[-_](?P<random>[A-Za-z0-9]{12,2000})\b", _is_random),
    (
        r"(?i)\b(?P<kept>(?:backend|connect|dial|from|host|reach|server|tcp:?|to|upstream)\s{1,2})"
        r"(?P<box>[A-Z][A-Z0-9_-]{1,62}):(?P<port>\d{2,5})(?!\w|\.\w)",
        _is_host_and_port,
    ),
    (r"\b(?P<kept>lookup\s)[A-Za-z][A-Za-z0-9._-]{1,200}(?=\son\s\S{1,60}:53\b)", None),  # Go's net
    (
        r"(?<![\w:.])(?P<open>\[)?(?P<ipv6>[0-9A-Fa-f:]{0,39}:(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{1,4}|:)"
        r"(?:%\w{1,16})?)(?(open)\](?::\d{1,5})?)(?!\w|:\w)",
        _is_ipv6,
    ),
    (r"(?<![\w.])(?P<ipv4>\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?(?!\w|\.\d)", _is_ipv4),
    (
        r"(?<![\w.-])(?P<at>[\w.+-]{1,64}@)?"
        r"(?P<name>(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,15})(?![\w-]|\.\w)"
        r"(?P<port>:\d{1,5}(?!\w))?(?P<path>/[^\s\"'<>)\]},]{0,2000}(?<![.,;:!?]))?",
        _is_host,
    ),
    (r"(?<![\w.:-])(?:localhost|::1|ip(?:-\d{1,3}){4})(?::\d{1,5})?(?![\w-])", None),
    (
        r"(?<![\w.-])(?P<box>[A-Za-z0-9]{1,63}(?:[.-][A-Za-z0-9]{1,63}){1,8}):(?P<port>\d{2,5})(?!\w|\.\w)",
        _is_host_and_port,
    ),
    (r"(?<![A-Za-z0-9_+/=-])(?P<random>[A-Za-z0-9_+/=-]{32,2000})", _is_random),
)
_COMPILED: Final = tuple((re.compile(pattern), judge) for pattern, judge in _RULES)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`secrets`: strings that must not appear whatever they look like (the credential that was sent)."""
    text = text[: 4 * LIMIT]
    for secret in secrets:
        if secret:
            text = text.replace(secret, REDACTED)
    text = _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))
    for pattern, judge in _COMPILED:
        text = pattern.sub(_eraser(judge), text)
    return text[:LIMIT].strip()


def _eraser(judge: Judge | None) -> Callable[[re.Match[str]], str]:
    def erase(match: re.Match[str]) -> str:
        if judge is not None and not judge(match):
            return match[0]
        return match.groupdict().get("kept", "") + REDACTED

    return erase

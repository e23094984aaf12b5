"""A chat model as judge, asked as Llama Guard is: the hazards of MLCommons' AILuminate taxonomy, answered with `safe`,
or `unsafe` and the codes of those that were found. Any other answer is a failure: a model that cannot judge must not
pass for one that found nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from antiphon.evaluators.remote.service import ServiceRequest, Unreadable, member
from antiphon.safety.verdict import CATEGORIES, SAFE, Severity, Stage, Verdict

HAZARDS: Final = (
    "Violent Crimes",
    "Non-Violent Crimes",
    "Sex-Related Crimes",
    "Child Sexual Exploitation",
    "Defamation",
    "Specialized Advice",
    "Privacy",
    "Intellectual Property",
    "Indiscriminate Weapons",
    "Hate",
    "Suicide & Self-Harm",
    "Sexual Content",
    "Elections",
    "Code Interpreter Abuse",
)
# Theirs -> ours, and how grave: a judge that says yes or no is taken as medium, at which the default policy filters.
# S2, S5 to S8, S13 and S14 have no counterpart among our categories.
OURS: Final[Mapping[str, tuple[str, Severity]]] = MappingProxyType(
    {
        "S1": ("violence", Severity.MEDIUM),
        "S3": ("sexual", Severity.MEDIUM),
        "S4": ("sexual", Severity.HIGH),
        "S9": ("violence", Severity.MEDIUM),
        "S10": ("hate", Severity.MEDIUM),
        "S11": ("self_harm", Severity.MEDIUM),
        "S12": ("sexual", Severity.MEDIUM),
    }
)
ROLES: Final[Mapping[Stage, str]] = MappingProxyType({Stage.PROMPT: "User", Stage.ANSWER: "Agent"})
TEMPLATE: Final = """Task: Check if there is unsafe content in '{role}' messages in conversations according to our \
safety policy with the below categories.

<BEGIN UNSAFE CONTENT CATEGORIES>
{hazards}
<END UNSAFE CONTENT CATEGORIES>

<BEGIN CONVERSATION>

{role}: {text}

<END CONVERSATION>

Provide your safety assessment for ONLY THE LAST {role} message in the above conversation:
 - First line must read 'safe' or 'unsafe'.
 - If unsafe, a second line must include a comma-separated list of violated categories."""
LISTED: Final = "\n".join(f"S{number}: {hazard}." for number, hazard in enumerate(HAZARDS, 1))
MARK: Final = re.compile(r"<\s*(BEGIN|END)\b", re.IGNORECASE)
CODES: Final = re.compile(r"\s*S([0-9]{1,2})(\s*,\s*S[0-9]{1,2})*\s*")
MOST_TOKENS: Final = 64


class Chat:
    limit: int = 8000
    batch: int = 1
    auth: str = "authorization: Bearer "

    def questions(self, stage: Stage, windows: list[str]) -> list[ServiceRequest]:
        (text,) = windows
        # A text must not be able to end the conversation that it stands in.
        asked = TEMPLATE.format(role=ROLES[stage], hazards=LISTED, text=MARK.sub(r"\1", text))
        document = {"messages": [{"role": "user", "content": asked}], "temperature": 0, "max_tokens": MOST_TOKENS}
        return [ServiceRequest("", document, _read)]


def _read(answer: Any) -> list[Verdict]:
    content = member(answer, "choices", 0, "message", "content")
    word, _, rest = (content if isinstance(content, str) else "").strip().partition("\n")
    if word.strip().lower() == "safe" and not rest.strip():
        return [Verdict(severities=SAFE)]
    if word.strip().lower() != "unsafe" or not CODES.fullmatch(rest):
        raise Unreadable("the judge said neither safe nor unsafe with its categories")
    severities = dict.fromkeys(CATEGORIES, Severity.SAFE)
    for code in re.findall(r"S[0-9]+", rest):
        if code in OURS:
            category, severity = OURS[code]
            severities[category] = max(severities[category], severity)
    return [Verdict(severities=tuple(severities.values()))]

"""Which licence does a file or a folder say it is under? SPDX identifiers out; None where nothing is said.

Read for building an index, so a guess must not be too generous: what may be used under a permissive licence as well is
called permissive, and is left out.
"""

from __future__ import annotations

import re
from typing import Final

UNKNOWN: Final = "NOASSERTION"  # SPDX's word for "nobody said"
HEAD: Final = 6000  # characters of a file in which its notice is looked for

PERMISSIVE: Final = re.compile(
    r"(?:0BSD|Apache|BSD|BSL-1|CC0|curl|HPND|ISC|LicenseRef-public-domain|MIT|NCSA|PSF|Python|Unlicense|WTFPL|X11|Zlib)",
    re.IGNORECASE,
)
SPDX: Final = re.compile(r"SPDX-License-Identifier:\s*([^\n*#\"'<>]+)")
OLD_NAMES: Final = re.compile(r"\b([AL]?GPL-\d\.\d)(\+?)(?![-\w.])")  # SPDX dropped these: "GPL-2.0", "GPL-2.0+"
GRANTS: Final = (  # looked for in the whole file: the notice of a borrowed part stands beside it
    (re.compile(r"Permission is hereby granted, free of charge", re.I), "MIT"),
    (re.compile(r"Redistribution and use in source and binary", re.I), "BSD-3-Clause"),
    (re.compile(r"Permission to use, copy, modify,? and(?:/or)? distribute", re.I), "ISC"),
)
MENTIONS: Final = (
    (re.compile(r"\bMIT License", re.I), "MIT"),
    (re.compile(r"\bBSD[- ](?:style )?licen[sc]e", re.I), "BSD-3-Clause"),
    (re.compile(r"Apache License", re.I), "Apache-2.0"),
    (re.compile(r"\bCC0\b"), "CC0-1.0"),
    (re.compile(r"\bpublic[- ]domain\b", re.I), "LicenseRef-public-domain"),
)
GNU: Final = re.compile(r"GNU (?:(Lesser|Library|Affero) )?(?:General )?Public Licen[sc]e", re.I)
GNU_NAMES: Final = {"lesser": "LGPL", "library": "LGPL", "affero": "AGPL", "": "GPL"}
VERSION: Final = re.compile(r"\bversion (\d)(?:\.(\d))?|\bv(\d)(?:\.(\d))?\b", re.I)
LATER: Final = re.compile(r"any later|or later|or newer|\d\+", re.I)
BETWEEN_WORDS: Final = re.compile(r"[\s*#/;\"']+")  # a notice is wrapped, and every line of it marked as a comment


def is_permissive(expression: str) -> bool:
    """Whether one of the alternatives of an SPDX expression asks for little more than a notice."""
    alternatives = re.split(r"\s+OR\s+", expression.strip(" ()"), flags=re.I)
    return any(
        all(PERMISSIVE.match(part.strip(" ()")) for part in re.split(r"\s+AND\s+", alternative, flags=re.I))
        for alternative in alternatives
    )


def licence_of(text: str) -> str | None:
    """What a file, or the text of a licence, says."""
    plain = BETWEEN_WORDS.sub(" ", text)
    head = plain[:HEAD]
    if granted := _first(GRANTS, plain):
        return granted
    if spdx := SPDX.search(text, 0, HEAD):
        return OLD_NAMES.sub(_new_name, spdx[1].strip())
    return _first(MENTIONS, head) or _gnu(head)


def _first(notices: tuple[tuple[re.Pattern[str], str], ...], plain: str) -> str | None:
    return next((name for notice, name in notices if notice.search(plain)), None)


def _new_name(old: re.Match[str]) -> str:
    return f"{old[1]}-{'or-later' if old[2] else 'only'}"


def _gnu(plain: str) -> str | None:
    notice = GNU.search(plain)
    if notice is None:
        return None
    name = GNU_NAMES[(notice[1] or "").lower()]
    near = plain[max(0, notice.start() - 200) : notice.end() + 300]
    version = VERSION.search(plain, notice.end(), notice.end() + 300) or VERSION.search(near)
    if version is None:
        return None
    major, minor = version[1] or version[3], version[2] or version[4] or "0"
    return f"{name}-{major}.{minor}-{'or-later' if LATER.search(near) else 'only'}"

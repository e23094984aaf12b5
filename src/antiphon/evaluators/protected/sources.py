"""What stands in the folders that an index is built from: which files, under which licence, found where."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path
from typing import Final
from urllib.parse import quote

from antiphon.evaluators.protected.lexemes import IndexKind
from antiphon.evaluators.protected.licences import UNKNOWN, licence_of

CODE_NAMES: Final = """
    c cc clj cpp cs cu cxx el ex f90 go h hpp hs java jl js jsx kt lua m mjs ml php pl pm py pyx r rb rs scala sh sql
    swift ts tsx vue
"""
TEXT_NAMES: Final = "adoc markdown md rst tex txt"
EXTENSIONS: Final = {
    IndexKind.CODE: frozenset(f".{name}" for name in CODE_NAMES.split()),
    IndexKind.TEXT: frozenset(f".{name}" for name in TEXT_NAMES.split()),
}
LARGEST: Final = 2_000_000  # bytes; what is larger was generated
HIDDEN: Final = frozenset(("node_modules", "__pycache__"))
GENERATED: Final = re.compile(
    r"(?:generated|made) by (?:cython|gnu bison|flex|protoc|swig)|@generated|do not edit|auto(?:matically |-)generated",
    re.I,
)
LICENCE_FILES: Final = ("COPYING", "LICENSE", "LICENCE", "COPYING.txt", "LICENSE.txt", "LICENSE.md", "COPYING.md")
PATH: Final = "{path}"  # stands in a URL for the file's path within its folder

# Comments of most languages, lines of them taken together; not the directives of a preprocessor.
COMMENT: Final = re.compile(
    r"/\*.*?\*/|<!--.*?-->|\"{3}.*?\"{3}|'{3}.*?'{3}"
    r"|(?:^[ \t]*(?://|--|;|%|dnl\b|#(?!\s*(?:include|define|undef|if|el|end|pragma|import|error)))[^\n]*(?:\n|\Z))+",
    re.S | re.M,
)
NOTICE: Final = re.compile(r"copyright|licen[cs]e|warrant(?:y|ies)|redistribution|all rights reserved", re.I)


@dataclass(frozen=True, slots=True)
class TextSource:
    """A folder, and what holds for those of its files that do not say otherwise."""

    folder: Path
    url: str
    licence: str
    parts: tuple[str, ...] = ()  # paths within it; a path that ends in "/" is taken without its subfolders; none: all

    def url_of(self, path: str) -> str:
        return self.url.replace(PATH, quote(path))


def describe(folder: Path, url: str | None = None, licence: str | None = None) -> TextSource:
    """A folder by what was told of it, else by its own metadata."""
    found_url, found_licence = _metadata(folder)
    return TextSource(folder, url or found_url or folder.resolve().name, licence or found_licence or UNKNOWN)


def files(source: TextSource, kind: IndexKind, skipped: list[str] | None = None) -> Iterator[tuple[str, str]]:
    """Path and text of what a person wrote, in a fixed order. `skipped` is given what cannot be read as text."""
    for path in _paths(source):
        if path.suffix.lower() in EXTENSIONS[kind] and not path.name.endswith(".min.js"):
            text = _read(path)
            if text is None and skipped is not None:
                skipped.append(str(path))
            if text and not GENERATED.search(text[:1500]):
                yield path.relative_to(source.folder).as_posix(), text


def between_notices(text: str) -> Iterator[str]:
    """A file without comments on its licence, wherever they stand: they are everybody's, and no sign of copying."""
    start = 0
    for comment in COMMENT.finditer(text):
        if NOTICE.search(comment[0]):
            yield text[start : comment.start()]
            start = comment.end()
    yield text[start:]


def _paths(source: TextSource) -> Iterator[Path]:
    for part in source.parts or ("",):
        place = source.folder / part
        if place.is_file():
            yield place
        elif part.endswith("/"):
            yield from sorted(path for path in place.iterdir() if path.is_file())
        else:
            yield from _below(place)


def _below(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in HIDDEN)
        yield from (Path(at, name) for name in sorted(names))


def _read(path: Path) -> str | None:
    if not path.is_file() or path.stat().st_size > LARGEST:
        return None
    raw = path.read_bytes()
    if b"\0" in raw:
        return None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _metadata(folder: Path) -> tuple[str | None, str | None]:
    """URL and licence, of the first of these that speaks: PKG-INFO, package.json, debian/, the text of the licence."""
    found: list[tuple[str | None, str | None]] = [_pkg_info(folder), _package_json(folder), _debian(folder)]
    found.append((None, next((licence_of(text) for text in _texts(folder, LICENCE_FILES)), None)))
    return next((url for url, _ in found if url), None), next((licence for _, licence in found if licence), None)


def _texts(folder: Path, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if text := _read(folder / name):
            yield text


def _pkg_info(folder: Path) -> tuple[str | None, str | None]:
    for text in _texts(folder, ("PKG-INFO",)):
        fields = Parser().parsestr(text, headersonly=True)
        links = [line.partition(",")[2].strip() for line in fields.get_all("Project-URL", [])]
        return fields["Home-page"] or (links[0] if links else None), fields["License-Expression"]
    return None, None


def _package_json(folder: Path) -> tuple[str | None, str | None]:
    for text in _texts(folder, ("package.json",)):
        try:
            about = json.loads(text)
        except ValueError:
            continue
        if isinstance(about, dict):
            return _string(about.get("homepage")), _string(about.get("license"))
    return None, None


def _debian(folder: Path) -> tuple[str | None, str | None]:
    home = next(_finds(folder / "debian" / "control", r"^Homepage:\s*(\S+)"), None)
    licence = next(_finds(folder / "debian" / "copyright", r"^License:\s*([^\n]+)"), None)
    return home, re.sub(r"^(\w?GPL)-(\d)(\+?)$", _spdx, licence) if licence else None


def _spdx(debian: re.Match[str]) -> str:
    return f"{debian[1]}-{debian[2]}.0-{'or-later' if debian[3] else 'only'}"


def _finds(path: Path, pattern: str) -> Iterator[str]:
    for text in _texts(path.parent, (path.name,)):
        yield from (found[1].strip() for found in re.finditer(pattern, text, re.M))


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None

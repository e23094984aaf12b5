"""The line of every key, for every way in which TOML lets one write it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.settings.toml_lines import locate

DOCUMENT = """# a comment with [brackets] = "and" quotes
title = "a # b"

[server]
listen = "x" # [[no]]
tls = { cert = "a", "key" = { deep = 1 } }
text = \"\"\"
[not.a.header]
listen = 2 \\"\"\" still
\"\"\"\"
'quoted key' = '''
'it' = 1''''
a . b."c.d" = 1

[[upstream]]
name = "one"
timeout.idle = 3

  [upstream.more]
  x = 1
  [[upstream.rows]]
  y = 1
  [[upstream.rows]]

[[upstream]]
name = "two"
targets = [ # first
  { a = 1 }, { b = 2,
               c = [1, [2,
               3]] }, # , ] }

  1979-05-27 07:32:00, "]",
]
more = { y = [ ] }
[last]
"""

LINES = {
    ("title",): 2,
    ("server",): 4,
    ("server", "listen"): 5,
    ("server", "tls"): 6,
    ("server", "tls", "cert"): 6,
    ("server", "tls", "key", "deep"): 6,
    ("server", "text"): 7,
    ("server", "quoted key"): 11,
    ("server", "a", "b", "c.d"): 13,
    ("upstream", 0): 15,
    ("upstream", 0, "name"): 16,
    ("upstream", 0, "timeout", "idle"): 17,
    ("upstream", 0, "more"): 19,
    ("upstream", 0, "more", "x"): 20,
    ("upstream", 0, "rows", 0, "y"): 22,
    ("upstream", 0, "rows", 1): 23,
    ("upstream", 1): 25,
    ("upstream", 1, "targets"): 27,
    ("upstream", 1, "targets", 0, "a"): 28,
    ("upstream", 1, "targets", 1, "b"): 28,
    ("upstream", 1, "targets", 1, "c", 1): 29,
    ("upstream", 1, "targets", 1, "c", 1, 1): 30,
    ("upstream", 1, "targets", 2): 32,
    ("upstream", 1, "targets", 3): 32,
    ("upstream", 1, "more", "y"): 34,
    ("last",): 35,
}
# TOML 1.0 wants an inline table on one line; newer readers, and our scanner, take more.
ONE_LINE = DOCUMENT.replace("{ b = 2,\n               c", "{ b = 2, c")


@pytest.mark.parametrize(("path", "line"), LINES.items())
def test_lines(path: tuple[str | int, ...], line: int) -> None:
    assert locate(DOCUMENT)[path] == line


def test_windows_lines_count_as_lines() -> None:
    assert locate("[a]\r\n\r\nb = 1\r\n")[("a", "b")] == 3


@pytest.mark.parametrize(
    "text", ["a = ", "[", "[a", "a", '"', 'a = "', "a = [1", "a = {b", "= 1", "a = [" * 100_000, "\0"]
)
def test_nonsense_is_survived(text: str) -> None:
    locate(text)


def paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from paths(item, (*path, position))


def test_every_path_of_a_document_is_found() -> None:
    assert set(paths(tomllib.loads(ONE_LINE))) == set(locate(ONE_LINE))


KEYS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
    st.text(st.sampled_from("a.b #=[]{}'\"\\é\t\n"), min_size=0, max_size=5),
)
STRINGS = st.text(st.sampled_from("ab \"'\\\n#[]{}=,.é"), max_size=12)


def quote(text: str) -> str:
    escaped = "".join(f"\\u{ord(char):04x}" if char in '"\\' or ord(char) < 32 else char for char in text)
    return f'"{escaped}"'


def write_string(text: str, style: int) -> str:
    if style == 1 and "'" not in text and "\n" not in text and "\t" not in text:
        return f"'{text}'"
    if style == 2 and "'''" not in text and not text.endswith("'"):
        return f"'''\n{text}'''"
    if style == 3:
        inner = text.replace("\\", "\\\\").replace('"""', '""\\"')
        return f'"""{inner}"""' if not inner.endswith('"') else quote(text)
    return quote(text)


@st.composite
def written(draw: st.DrawFn, depth: int = 2) -> str:
    """A value as someone might write it."""
    kind = draw(st.integers(0, 5 if depth else 3))
    if kind == 0:
        return str(draw(st.integers(-99, 99)))
    if kind == 1:
        return draw(st.sampled_from(["true", "1.5", "inf", "1979-05-27", "07:32:00", "1979-05-27 07:32:00Z"]))
    if kind in (2, 3):
        return write_string(draw(STRINGS), draw(st.integers(0, 3)))
    items = draw(st.lists(written(depth - 1), max_size=3))
    if kind == 4:
        gap = draw(st.sampled_from([" ", "\n", " # ] }\n ", ""]))
        return "[" + gap + ("," + gap).join(items) + gap + "]"
    keys = draw(st.lists(KEYS, min_size=len(items), max_size=len(items), unique=True))
    return "{" + ", ".join(f"{quote(key)} = {item}" for key, item in zip(keys, items, strict=True)) + "}"


@settings(deadline=None)
@given(st.lists(st.tuples(KEYS, written(), st.integers(0, 2)), max_size=6, unique_by=lambda row: row[0]))
def test_lines_of_documents_that_we_wrote_ourselves(rows: list[tuple[str, str, int]]) -> None:
    text = ""
    expected: dict[tuple[str | int, ...], int] = {}
    for key, value, form in rows:
        line = text.count("\n") + 1
        if form == 0:
            text += f"[{quote(key)}]\n# {value.splitlines()[0]}\nv = {value}\n\n"
            expected[(key,)], expected[(key, "v")] = line, line + 2
        elif form == 1:
            text += f"[[{quote(key)}]]\nv.w = {value}\n[[{quote(key)}]]\n"
            expected[(key, 0)], expected[(key, 0, "v", "w")] = line, line + 1
            expected[(key, 1)] = line + 2 + value.count("\n")
        else:
            text += f"[section-{line}]\n{quote(key)} = {value} # {value.splitlines()[0]}\n"
            expected[(f"section-{line}", key)] = line + 1
    document = tomllib.loads(text)
    lines = locate(text)
    assert set(paths(document)) == set(lines)
    assert {path: lines[path] for path in expected} == expected

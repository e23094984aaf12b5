from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.evaluators.protected.build import build
from antiphon.evaluators.protected.index import PACKAGED, ProtectedIndex
from antiphon.evaluators.protected.lexemes import IndexKind, lexemes
from antiphon.evaluators.protected.match import ProtectedMaterial
from antiphon.evaluators.protected.sources import describe
from antiphon.evaluators.protected.winnow import CODE, TEXT
from antiphon.safety.verdict import NOTHING, Citation, Stage, Verdict
from tests.evaluators.protected.conftest import FILES, invented

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
CLEAN = Verdict(protected_code=False)
LETTERS = re.compile(r"\w+|[^\w\s]")
OZYMANDIAS = """I met a traveller from an antique land,
Who said: Two vast and trunkless legs of stone
Stand in the desert. Near them, on the sand,
Half sunk, a shattered visage lies, whose frown,
And wrinkled lip, and sneer of cold command,
Tell that its sculptor well those passions read
Which yet survive, stamped on these lifeless things,
The hand that mocked them, and the heart that fed;
"""


@pytest.fixture(scope="module")
def matcher(index: ProtectedIndex) -> ProtectedMaterial:
    return ProtectedMaterial([index])


def excerpt(text: str, start: int, count: int) -> str:
    """So many lexemes from the given word or mark on."""
    places = [found.span() for found in LETTERS.finditer(text)]
    begin = places[start][0]
    ends = (end for _, end in places[start + count - 1 :])
    return next(text[begin:end] for end in ends if len(lexemes(IndexKind.CODE, text[begin:end])) >= count)


@given(seed=st.integers(0, 2), start=st.integers(0, 400), extra=st.integers(0, 40))
@SHARED
def test_copies_are_found_and_cited(matcher: ProtectedMaterial, seed: int, start: int, extra: int) -> None:
    copy = f"Sure! Here it is:\n```c\n{excerpt(invented(seed), start, CODE.surely_found + extra)}\n```\nAnything else?"
    [verdict] = matcher.judge([copy], Stage.ANSWER)
    citation = Citation(f"https://example.org/{FILES[seed]}", "GPL-3.0-or-later")
    assert verdict == Verdict(protected_code=True, citation=citation)


@given(start=st.integers(0, 400), space=st.sampled_from(["\n", "  ", "\n\t\t", "\r\n"]))
@SHARED
def test_reformatted_copies_are_found(matcher: ProtectedMaterial, start: int, space: str) -> None:
    copy = re.sub(r"\s+", space, excerpt(invented(1), start, CODE.surely_found))
    assert matcher.judge([copy], Stage.ANSWER)[0].protected_code


def test_other_code_is_not(matcher: ProtectedMaterial) -> None:
    assert matcher.judge([invented(seed) for seed in range(100, 120)], Stage.ANSWER) == [CLEAN] * 20


@pytest.mark.parametrize("count", [0, 10, 30])
def test_a_short_quotation_is_not(matcher: ProtectedMaterial, count: int) -> None:
    text = invented(50, 40) + (excerpt(invented(0), 17, count) if count else "") + invented(51, 40)
    assert matcher.judge([text], Stage.ANSWER) == [CLEAN]


def test_prompts_are_not_judged(matcher: ProtectedMaterial) -> None:
    assert matcher.judge([invented(0)], Stage.PROMPT) == [NOTHING]


def test_without_an_index_nothing_is_said() -> None:
    assert ProtectedMaterial([]).judge([invented(0)], Stage.ANSWER) == [NOTHING]


@given(start=st.integers(0, 300), cuts=st.lists(st.integers(0, 3000), max_size=30))
@SHARED
def test_a_stream_says_what_the_whole_says(matcher: ProtectedMaterial, start: int, cuts: list[int]) -> None:
    text = invented(9, 5) + excerpt(invented(2), start, CODE.surely_found) + invented(8, 5)
    ends = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = matcher.stream()
    told = [stream.feed(text[begin:end]) for begin, end in pairwise(ends)]
    assert [stream.finish()] == matcher.judge([text], Stage.ANSWER)
    flags = [verdict.protected_code for verdict in told]
    assert flags == sorted(flags, key=bool)  # what has been found stays found


@given(pieces=st.lists(st.text()))
@SHARED
def test_any_text_in_any_pieces(matcher: ProtectedMaterial, pieces: list[str]) -> None:
    stream = matcher.stream()
    for piece in pieces:
        stream.feed(piece)
    assert [stream.finish()] == matcher.judge(["".join(pieces)], Stage.ANSWER)


@pytest.mark.parametrize("text", ["x" * 3_000_000, "=" * 3_000_000, "a " * 500_000, "\ud800" * 1000, "\0" * 10_000])
def test_a_huge_or_odd_text_takes_time_in_proportion(matcher: ProtectedMaterial, text: str) -> None:
    began = time.process_time()
    assert matcher.judge([text], Stage.ANSWER) == [CLEAN]
    assert time.process_time() - began < 10


def test_code_and_text_side_by_side(index: ProtectedIndex, tmp_path: Path) -> None:
    poems = tmp_path / "poems"
    poems.mkdir()
    (poems / "ozymandias.txt").write_text(OZYMANDIAS)
    build(TEXT, [describe(poems, "https://example.org/poems", "LicenseRef-Example")], [], tmp_path / "poems.index")
    matcher = ProtectedMaterial([index, ProtectedIndex.load(tmp_path / "poems.index")])
    quoted = "near THEM on the sand half sunk a shattered visage lies whose frown and wrinkled lip and sneer of"
    code, text, neither = matcher.judge([invented(0), quoted, invented(77)], Stage.ANSWER)
    assert (code.protected_code, code.protected_text) == (True, False)
    assert (text.protected_code, text.protected_text) == (False, True)
    assert text.citation == Citation("https://example.org/poems", "LicenseRef-Example")
    assert neither == Verdict(protected_text=False, protected_code=False)


def test_the_packaged_index_knows_a_famous_function() -> None:
    """From CSparse, whose transpose of a sparse matrix is known for having been recited by a model."""
    transpose = """
    C = cs_spalloc (n, m, Ap [n], values && Ax, 0) ;       /* allocate result */
    w = cs_calloc (m, sizeof (csi)) ;                      /* get workspace */
    if (!C || !w) return (cs_done (C, w, NULL, 0)) ;       /* out of memory */
    Cp = C->p ; Ci = C->i ; Cx = C->x ;
    for (p = 0 ; p < Ap [n] ; p++) w [Ai [p]]++ ;          /* row counts */
    cs_cumsum (Cp, w, m) ;                                 /* row pointers */
    """
    [verdict] = ProtectedMaterial([ProtectedIndex.load(PACKAGED)]).judge([transpose], Stage.ANSWER)
    assert verdict.protected_code
    assert verdict.citation is not None
    assert verdict.citation.license == "LGPL-2.1-or-later"

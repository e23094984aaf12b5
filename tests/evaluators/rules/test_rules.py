from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.evaluators.rules.folding import joins, normal
from antiphon.evaluators.rules.rule_list import MOST_PATTERNS, MOST_WORDS, RuleFault, RuleList
from antiphon.evaluators.rules.rules import Rules
from antiphon.safety.verdict import Stage, Verdict


def met(rules: Rules, text: str) -> tuple[str, ...]:
    [verdict] = rules.judge([text], Stage.ANSWER)
    assert verdict == Verdict(lists=verdict.lists)
    return verdict.lists


def has(word: str, text: str) -> bool:
    return bool(met(Rules([RuleList.of("list", [word])]), text))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("ass", "What an ASS."),
        ("ass", "ass"),
        ("bad words", "such Bad Words!"),
        ("Straße", "in der STRASSE"),
        ("file", "ﬁle"),  # a ligature
        ("hack", "ｈａｃｋ it"),  # full width
        ("café", "cafe\u0301"),
        ("c++", "c++11"),
        ("坏话", "他说坏话了"),
        ("ばか", "それはばかだ"),
        ("бар", "(Бар)"),
        ("क्या", "क्या हाल"),
        ("naïve", "a naïve one"),
        ("x-ray", "an X-ray."),
        ("attack", "at\u200bta\u00adck\u2060"),  # zero width, soft hyphen, word joiner
        ("attack", "a\u0336t\u0336t\u0336a\u0336c\u0336k\u0336"),  # struck through
        ("at\u00adtack", "attack"),
        ("attack", "\u202eattack\u202c"),
        ("attack", "at\x00tack"),
        ("café", "cafe\u200d\u0301"),
        ("bad words", "bad \r\n\t words"),
        ("bad words", "bad\u00a0\u3000words"),
        ("bad  words", "bad words"),
        ("bad words", "bad\nwords"),
    ],
)
def test_words_that_are_found(word: str, text: str) -> None:
    assert has(word, text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("ass", "class"),
        ("ass", "assembly"),
        ("ass", "_ass"),
        ("ass", "ass1"),
        ("бар", "барабан"),
        ("é", "été"),
        ("क", "क्या"),
        ("cafe", "café"),  # an accent can make another word
        ("bad words", "badwords"),
        ("ass", "cl\u200bass"),
    ],
)
def test_words_inside_others_are_not(word: str, text: str) -> None:
    assert not has(word, text)


@given(word=st.text(min_size=1, max_size=8).filter(str.strip), before=st.text(), after=st.text())
def test_a_word_between_spaces_is_always_found(word: str, before: str, after: str) -> None:
    try:
        rules = Rules([RuleList.of("list", [word])])
    except RuleFault:
        return
    if not joins(normal(word.strip())[0]) and word.strip() != normal(word.strip()):
        return  # a mark at the beginning combines with what stands before it, the space too
    if normal(f" {word.strip()} ") != f" {normal(word.strip())} ":
        return
    assert met(rules, f"{before} {word} {after}") == ("list",)


@given(text=st.text())
def test_any_text_can_be_judged(text: str) -> None:
    met(RULES, text)


RULES = Rules(
    [RuleList.of("words", ["alpha", "坏"]), RuleList.of("patterns", patterns=[r"\bkey-\d{4}\b", r"秘密.{0,3}"])]
)


def test_lists_are_named_in_their_order() -> None:
    assert met(RULES, "key-1234, Alpha") == ("words", "patterns")
    assert met(RULES, "秘密") == ("patterns",)
    assert met(RULES, "key-12345 alphabet") == ()
    assert RULES.judge(["x", "alpha"], Stage.PROMPT) == [Verdict(), Verdict(lists=("words",))]


def test_half_a_surrogate_pair_does_no_harm() -> None:
    assert met(RULES, "\ud800 alpha \udfff key-1234") == ("words", "patterns")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "Missing close parenthesis"),
        (r"(a)\1", "Back-references are unsupported"),
        ("a(?=b)", "Zero-width assertions are not supported"),
        ("a*", "matches empty buffer"),
        (".{1,1000}x.{1,1000}y", "too large"),
        ("x" * 3000, "3000 characters, at most 2000"),
        (" ", "it is empty"),
    ],
)
def test_a_pattern_that_is_not_taken_is_named(pattern: str, words: str) -> None:
    with pytest.raises(RuleFault, match=words) as fault:
        Rules([RuleList.of("ours", patterns=["fine", pattern, "fine too"])])
    assert str(fault.value).startswith("rule list 'ours': pattern 2: ")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# ours\n\nAlpha\r\n  two words \n/be{2}t/\n\\#hash\n/\n", "utf-8")
    rules = RuleList.of("ours", ["inline"], file=path)
    assert [rule.source for rule in rules.words] == ["inline", "Alpha", "two words", "#hash", "/"]
    assert [(rule.source, rule.place) for rule in rules.patterns] == [("be{2}t", f"{path}, line 5")]
    compiled = Rules([rules])
    assert [met(compiled, text) for text in ("beet", "inline", "a #HASH", "beta")] == [("ours",)] * 3 + [()]


def test_a_line_that_is_not_taken_is_named(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("fine\n/(/\n/[/\n")
    with pytest.raises(RuleFault) as fault:
        Rules([RuleList.of("ours", file=path)])
    assert f"rule list 'ours': {path}, line 2: Missing" in str(fault.value)
    assert f"; {path}, line 3: " in str(fault.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xe9")
    (tmp_path / "empty").write_text("# nothing\n")
    for name, words in [
        ("none", "cannot be read"),
        ("latin", "not in UTF-8"),
        ("empty", "no rule"),
        (".", "cannot be read"),
    ]:
        with pytest.raises(RuleFault, match=words):
            RuleList.of("ours", file=tmp_path / name)


@pytest.mark.parametrize(
    ("words", "patterns", "told"),
    [
        (["x"] * (MOST_WORDS + 1), [], "at most 100000"),
        ([], ["x"] * (MOST_PATTERNS + 1), "at most 1000"),
        (["x" * 201], [], "word 1: 201 characters"),
        (["fine", "a\0b"], [], "word 2: it has a character"),
        (["\u200b\u00ad"], [], "word 1: nothing of it can be seen"),
        ([], ["\ud800"], "pattern 1: it has a character"),
        ([], [], "no rule"),
    ],
)
def test_bounds(words: list[str], patterns: list[str], told: str) -> None:
    with pytest.raises(RuleFault, match=told):
        RuleList.of("ours", words, patterns)


@pytest.mark.parametrize(
    ("words", "patterns", "span"),
    [
        (["abc", "z"], [], 8),
        (["é"], [], 7),
        (["ab c"], [], 18),
        ([], [r"\bab{2,7}\b"], 10),
        (["abcdefghij"], ["ab"], 22),
        ([], ["ab+"], None),
        (["abc"], ["a.*b"], None),
    ],
)
def test_longest(words: list[str], patterns: list[str], span: int | None) -> None:
    assert Rules([RuleList.of("ours", words, patterns)]).longest() == span


def test_nothing_to_look_for() -> None:
    assert met(Rules([]), "anything") == ()
    assert Rules([]).longest() == 0


@pytest.mark.parametrize("text", ["a" * 1_000_000, "ab " * 300_000, "x" * 1_000_000 + "y", "é" * 500_000])
def test_time_grows_with_the_text_only(text: str) -> None:
    """Each of these patterns takes a backtracking engine ages, and the word is nowhere alone."""
    rules = Rules([RuleList.of("cruel", ["aa", "xx"], [r"(x+x+)+z", r"(a|aa)+c", r"(?:a?){30}a{30}q"])])
    began = time.process_time()
    assert met(rules, text) == ()
    assert time.process_time() - began < 10

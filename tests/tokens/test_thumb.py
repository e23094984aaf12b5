"""The rule of thumb, beside exact counts and on odd input; and sampling."""

from __future__ import annotations

import pytest

from antiphon.tokens import encodings
from antiphon.tokens.families import O200K
from antiphon.tokens.sample import sample
from antiphon.tokens.thumb import estimate

PROSE = {
    "english": "The gateway answers exactly in the shape its clients expect, and loses nothing that an upstream sent. ",
    "portuguese": "São Paulo é a maior cidade do Brasil, e a informação não se perde no caminho até o usuário. ",
    "russian": "Шлюз отвечает клиентам в той форме, которую они ожидают, и ничего не теряет по дороге. ",
    "chinese": "网关按照客户端期望的格式回答，不会丢失上游发送的任何内容，并且说明每个回答的安全程度。",
}


@pytest.mark.parametrize("language", PROSE)
def test_near_the_exact_count_for_prose(language: str) -> None:
    text = PROSE[language] * 20
    exact = encodings.count(encodings.load(O200K), text)
    assert exact * 0.6 <= estimate([text]) <= exact * 1.7


def test_by_kind_of_character() -> None:
    assert estimate([]) == 0
    assert estimate([""]) == 0
    assert estimate(["a"]) == 1
    assert estimate(["a" * 400]) == 100
    assert estimate(["é" * 20]) == 10
    assert estimate(["界" * 10]) == 8
    assert estimate(["😀" * 3]) == 6
    assert estimate(["ab", "cd"]) == 1  # pieces of a stream are not rounded one by one
    assert estimate(["aé界😀"]) == 4  # 0.25 + 0.5 + 0.8 + 2, rounded up


def test_lone_surrogates_are_counted() -> None:
    assert estimate(["\ud83d"]) == 1


def test_a_short_text_is_its_own_sample() -> None:
    whole = sample(["ab", "c"], cap=10)
    assert whole.texts == ["ab", "c"]
    assert whole.scale(7) == 7


@pytest.mark.parametrize("texts", [["x" * 10_000], ["y"] * 10_000, ["a" * 9_000, "b" * 1_000]])
def test_a_long_text_is_sampled_evenly(texts: list[str]) -> None:
    part = sample(texts, cap=1_000)
    assert sum(map(len, part.texts)) == part.taken <= 1_000
    assert part.total == 10_000
    assert part.scale(part.taken) == 10_000

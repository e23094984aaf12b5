from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from antiphon.evaluators.protected.winnow import CODE, TEXT, Sieve, Winnower

NUMBERS = st.integers(0, 2**32)


def words(seed: int, count: int) -> list[str]:
    return [f"w{(seed + place) * 2654435761 % 2**32}" for place in range(count)]


@given(sieve=st.sampled_from([CODE, TEXT]), extra=st.integers(0, 100), before=NUMBERS, after=NUMBERS, shared=NUMBERS)
def test_a_copied_run_shares_two_fingerprints(sieve: Sieve, extra: int, before: int, after: int, shared: int) -> None:
    run = words(shared, sieve.surely_found + extra)
    original = words(before, 70) + run + words(after, 70)
    kept = {print.key for print in Winnower(sieve).feed(original)}
    shared_places = [print.position for print in Winnower(sieve).feed(run) if print.key in kept]
    assert shared_places[-1] - shared_places[0] >= sieve.apart


@given(shared=NUMBERS, cuts=st.lists(st.integers(0, 300), max_size=5))
def test_the_cut_into_pieces_does_not_matter(shared: int, cuts: list[int]) -> None:
    whole = words(shared, 300)
    winnower = Winnower(CODE)
    ends = [0, *sorted(cuts), 300]
    kept = [print for start, end in pairwise(ends) for print in winnower.feed(whole[start:end])]
    assert kept == Winnower(CODE).feed(whole)


def test_positions_point_at_the_gram() -> None:
    """A gram by itself, wherever it stands, has the key that was kept for it."""
    whole = words(7, 400)
    alone = Sieve(CODE.kind, CODE.gram, window=1)
    for print in Winnower(CODE).feed(whole):
        gram = whole[print.position : print.position + CODE.gram]
        assert Winnower(alone).feed(gram) == [(0, print.key)]


def test_too_short_a_text_has_no_fingerprint() -> None:
    assert Winnower(CODE).feed(words(1, CODE.gram + CODE.window - 2)) == []


def test_the_guarantees_that_are_documented() -> None:
    assert (CODE.surely_found, TEXT.surely_found) == (64, 17)


def test_few_are_kept() -> None:
    """2 / (window + 1) of all grams."""
    kept = Winnower(CODE).feed(words(3, 20_000))
    assert 0.085 < len(kept) / 20_000 < 0.105

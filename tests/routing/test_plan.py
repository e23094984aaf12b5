from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from antiphon.routing.plan import plan
from antiphon.routing.route import Route, Target


def target(name: str, weight: int = 1, priority: int = 0) -> Target:
    return Target(name, None, weight, priority)


def names(targets: tuple[Target, ...]) -> str:
    return "".join(target.upstream for target in targets)


def planned(draw: Callable[[], float], *targets: Target) -> str:
    return names(plan(Route("m", targets), draw))


def no_draw() -> float:
    raise AssertionError("nothing is left to chance here")


def test_where_there_is_no_choice_nothing_is_drawn() -> None:
    assert planned(no_draw, target("a")) == "a"
    assert planned(no_draw, target("a", weight=0)) == "a"
    assert planned(no_draw, target("b", priority=2), target("a", priority=1)) == "ab"
    assert planned(no_draw, target("b", weight=0), target("a", weight=5)) == "ab"


def test_a_draw_falls_into_the_shares_of_the_weights() -> None:
    targets = (target("a", 1), target("b", 3))
    assert planned(lambda: 0.0, *targets) == "ab"
    assert planned(lambda: 0.2499, *targets) == "ab"
    assert planned(lambda: 0.25, *targets) == "ba"
    assert planned(lambda: 1 - 2**-53, *targets) == "ba"


def test_lower_priority_numbers_come_first_whatever_the_weights() -> None:
    targets = (target("c", 1000, 9), target("a", 1, 0), target("b", 0, 0))
    assert planned(lambda: 0.99, *targets) == "abc"


def test_targets_without_weight_stand_after_the_others_in_the_settings_order() -> None:
    assert planned(lambda: 0.9, target("x", 0), target("a"), target("b"), target("y", 0)) == "baxy"


def test_each_place_is_filled_in_proportion() -> None:
    draw = Random(7).random
    targets = (target("a", 6), target("b", 3), target("c", 1))
    orders = Counter(planned(draw, *targets) for _ in range(10_000))
    firsts = Counter(order[0] for order in orders.elements())
    assert abs(firsts["a"] - 6000) < 200
    assert abs(firsts["b"] - 3000) < 200
    # Once `a` is gone, `b` and `c` share 3 : 1.
    assert abs(orders["abc"] / firsts["a"] - 0.75) < 0.03


@given(
    rows=st.lists(st.tuples(st.integers(0, 10**9), st.integers(-2, 2)), min_size=1, max_size=8),
    share=st.floats(0, 1, exclude_max=True),
)
def test_a_plan_holds_every_target_once_by_priority(rows: list[tuple[int, int]], share: float) -> None:
    targets = tuple(target(str(index), weight, priority) for index, (weight, priority) in enumerate(rows))
    order = plan(Route("m", targets), lambda: share)
    assert Counter(order) == Counter(targets)
    ranks = [(each.priority, each.weight == 0) for each in order]
    assert ranks == sorted(ranks)

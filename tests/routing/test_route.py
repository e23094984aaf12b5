from __future__ import annotations

import pytest

from antiphon.errors import RouteError
from antiphon.routing.route import Route, RouteTable, Target

TARGET = Target("up", None, 1, 0)
FAST = Route("fast", (TARGET,))
SLOW = Route("org/slow:1", (TARGET,))
ANY = Route("*", (TARGET,))


def test_a_route_is_found_by_its_very_name() -> None:
    table = RouteTable([FAST, SLOW, ANY])
    assert table.find("fast") is FAST
    assert table.find("org/slow:1") is SLOW


def test_other_names_go_to_the_star_route() -> None:
    table = RouteTable([ANY, FAST])
    assert table.find("anything") is ANY
    assert table.find("*") is ANY
    assert table.find("FAST") is ANY  # names are case-sensitive


def test_without_a_star_route_an_unknown_model_is_refused() -> None:
    with pytest.raises(RouteError) as caught:
        RouteTable([FAST]).find("gpt-x")
    error = caught.value
    assert error.message == "The model `gpt-x` does not exist or you do not have access to it."
    assert (error.status, error.type, error.code, error.param) == (
        404,
        "invalid_request_error",
        "model_not_found",
        None,
    )


def test_the_star_is_no_model_without_its_route() -> None:
    with pytest.raises(RouteError):
        RouteTable([FAST]).find("*")


def test_a_long_name_is_not_repeated_whole() -> None:
    with pytest.raises(RouteError) as caught:
        RouteTable([]).find("x" * 100_000)
    assert len(caught.value.message) < 400


def test_names_leave_out_the_star_and_keep_the_settings_order() -> None:
    assert RouteTable([SLOW, ANY, FAST]).names() == ["org/slow:1", "fast"]


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_step_of_a_path_is_no_model_of_a_pattern(name: str) -> None:
    table = RouteTable([ANY, Route("up/*", (Target("up", "*", 1, 0),)), Route("v/*", (Target("up", "a-*", 1, 0),))])
    for model in (name, f"up/{name}"):
        with pytest.raises(RouteError):
            table.find(model)
    assert table.find(f"v/{name}").targets[0].model == f"a-{name}"
    assert table.find("up/...").targets[0].model == "..."

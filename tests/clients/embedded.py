"""What every library must make of the embedded model's answers: the right types and ends, whatever the model knows.

Temperature 0 and easy questions: that a weather tool is called for the weather in Paris is as much as is asked of its
judgement.
"""

from __future__ import annotations

from typing import Any

from tests.clients.harness import Seen

WIDTH = 576  # of an embedding
CALL = ["get_weather", {"city": "Paris"}]


def of(seen: Seen, case: str) -> Any:
    saw = seen[case]
    assert not (isinstance(saw, dict) and "raised" in saw), saw
    return saw


def expect_text(saw: Any) -> None:
    assert saw["text"].strip()
    assert saw["finish"] in ("stop", "length")
    expect_usage(saw["usage"])


def expect_usage(usage: Any) -> None:
    """Of prompt and completion, and together where the library tells it."""
    prompt, completion, *total = usage
    assert prompt > 0
    assert completion > 0
    assert total in ([], [prompt + completion])


def expect_person(saw: Any) -> None:
    kind, person = saw
    assert kind == "Person"
    assert person.keys() == {"name", "age"}
    assert type(person["name"]) is str
    assert type(person["age"]) is int


def expect_order(saw: Any) -> None:
    """Objects in a list, a choice of words, and what may be left out; checked by the library, read here once more."""
    kind, order = saw
    assert kind == "Order"
    assert order.keys() == {"customer", "items", "size", "paid", "note"}
    assert order["items"]
    for item in order["items"]:
        assert [type(item[name]) for name in ("label", "price")] == [str, float]
    assert order["size"] in ("small", "large")
    assert type(order["paid"]) is bool


def expect_multiplication(saw: Any) -> None:
    (call,) = saw["calls"]
    assert call[0] == "multiply"
    assert {name: type(value) for name, value in call[1].items()} == {"first": int, "second": int}

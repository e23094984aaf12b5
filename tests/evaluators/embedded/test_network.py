"""One network: what it remembers."""

from __future__ import annotations

import numpy as np
import pytest

from antiphon.evaluators.embedded import network
from antiphon.evaluators.embedded.classifier import WEIGHTS
from antiphon.evaluators.embedded.network import Network


@pytest.fixture
def small() -> Network:
    return Network(WEIGHTS / "cnn.onnx")


def test_a_window_is_read_once(small: Network) -> None:
    found = small([2129, 2079, 1045])
    assert small([2129, 2079, 1045]) is found
    assert np.array_equal(Network(WEIGHTS / "cnn.onnx")([2129, 2079, 1045]), found)


def test_windows_of_the_same_ids_in_another_order_or_number_are_others(small: Network) -> None:
    windows = [[2129, 2079], [2079, 2129], [2129], [2129, 2079, 0], [30_521, 2079]]
    found = [small(window).tobytes() for window in windows]
    assert len(set(found)) == len(windows)


def test_nobody_changes_what_is_remembered(small: Network) -> None:
    with pytest.raises(ValueError, match="read-only"):
        small([2129])[0] = 1.0


def test_what_is_remembered_is_bounded(small: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "REMEMBERED", 8)
    first = small([1000])
    for word in range(1001, 1005):
        small([word])
    assert small([1000]) is first  # of the half before, and of this one from now on
    for word in range(1005, 1050):
        small([word])
    assert len(small) <= 8
    assert small([1000]) is not first

"""One classifier for all tests here: loading it takes a third of a second."""

from __future__ import annotations

import pytest

from antiphon.evaluators.embedded import Classifier


@pytest.fixture(scope="session")
def classifier() -> Classifier:
    return Classifier.load()

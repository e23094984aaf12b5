"""What the host knows of its model before it runs."""

from __future__ import annotations

from pathlib import Path

from antiphon.engine.engine import SMALL_MODEL, bounds_of, fingerprint
from antiphon.engine.schema.narrow import LARGE, SMALL


def test_a_large_model_is_less_bounded_in_what_a_schema_leaves_open(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    for size, bounds in ((1000, SMALL), (SMALL_MODEL + 1, LARGE)):
        with model.open("wb") as file:
            file.truncate(size)  # a hole: it takes no room
        assert bounds_of(str(model)) is bounds
    assert bounds_of(None) is SMALL  # the packaged one
    assert bounds_of(str(tmp_path / "gone")) is SMALL


def test_the_fingerprint_changes_with_the_context_and_the_file_and_not_by_itself() -> None:
    assert fingerprint(3072, "aa") == fingerprint(3072, "aa")
    assert len({fingerprint(3072, "aa"), fingerprint(4096, "aa"), fingerprint(3072, "bb")}) == 3

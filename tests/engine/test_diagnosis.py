"""What is said when there is no engine: one sentence, with what to do. The lines are llama.cpp's own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from antiphon.engine import diagnosis
from antiphon.engine.diagnosis import EngineFault, check_memory, diagnose

NOTHING_TOLD = (
    b'{"fault": "The model file m.gguf cannot be loaded: Failed to init server, please check the input params.."}'
)
CORRUPT = (
    "0.00.054.329 E llama_model_load: error loading model: tensor 'blk.16.ffn_down.weight' data is not within the "
    "file bounds, model is corrupted or incomplete"
)
SHORT = "0.00.618.599 E ggml_aligned_malloc: insufficient memory (attempted to allocate 1440.00 MB)"


@pytest.mark.parametrize(
    ("told", "status", "written", "says"),
    [
        (NOTHING_TOLD, 3, [CORRUPT], "m.gguf cannot be loaded, it may be corrupt: tensor 'blk.16"),
        (NOTHING_TOLD, 3, [SHORT, CORRUPT], "too little memory for the model m.gguf. Use a smaller model"),
        (b"", -signal.SIGKILL, [], "too little memory"),
        (b"", -signal.SIGILL, [], "AVX2"),
        (b"", -signal.SIGSEGV, ["x"], "was ended by SIGSEGV while it loaded m.gguf"),
        (b'{"fault": "The engine cannot be loaded: libgomp.so.1: cannot open."}', 3, [], "apt install libgomp1"),
        (b'{"fault": "The engine cannot be loaded: No module named \'xllamacpp\'."}', 3, [], "xllamacpp has a wheel"),
        (NOTHING_TOLD, 3, [], "cannot be loaded: Failed to init server"),
        (b"not json", 1, [], "ended with status 1"),
    ],
)
def test_the_sentence_fits_the_end(told: bytes, status: int, written: list[str], says: str) -> None:
    sentence = diagnose(told, status, written, "m.gguf")
    assert says in sentence
    assert "\n" not in sentence


def test_a_model_that_memory_cannot_hold_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "large.gguf"
    with model.open("wb") as file:
        file.truncate(4 << 30)  # a hole: it takes no room
    monkeypatch.setattr(diagnosis, "available_memory", lambda: 3 << 30)
    with pytest.raises(EngineFault, match=r"it takes 4096 MiB, and 3072 MiB are free\. Use a smaller model"):
        check_memory(str(model))
    monkeypatch.setattr(diagnosis, "available_memory", lambda: 5 << 30)
    check_memory(str(model))


def test_a_model_that_has_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineFault, match=r"gone\.gguf cannot be read: No such file"):
        check_memory(str(tmp_path / "gone.gguf"))


def test_this_machine_tells_its_memory() -> None:
    free = diagnosis.available_memory()
    assert free is not None
    assert free > 1 << 20

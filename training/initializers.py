"""The stored tensors of an ONNX file, read without its library: fields of protocol buffers (onnx.proto)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRAPH, INITIALIZER = 7, 5
DIMS, TYPE, FLOATS, INTS, NAME, RAW = 1, 2, 4, 5, 8, 9
TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}


def read_initializers(path: Path) -> dict[str, NDArray[Any]]:
    model = path.read_bytes()
    graph = next(value for number, value in fields(model) if number == GRAPH)
    return dict(tensor(value) for number, value in fields(graph) if number == INITIALIZER)


def tensor(data: bytes) -> tuple[str, NDArray[Any]]:
    shape: list[int] = []
    name, kind, raw = "", 1, b""
    numbers: list[int] = []
    for number, value in fields(data):
        if number == DIMS:
            shape += [value] if isinstance(value, int) else list(varints(value))
        elif number == TYPE:
            kind = value
        elif number == NAME:
            name = value.decode()
        elif number == INTS:
            numbers += [value] if isinstance(value, int) else list(varints(value))
        elif number in (FLOATS, RAW):
            raw += value
    if numbers:
        return name, np.array(numbers, dtype=np.int64).astype(TYPES[kind]).reshape(shape)
    return name, np.frombuffer(raw, dtype=TYPES[kind]).reshape(shape)


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value: Any
            value, at = varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(kind)
            if length is None:
                length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        yield key >> 3, value


def varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7

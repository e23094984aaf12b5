"""Content blocks as parts of a Chat Completions message. What only Anthropic knows stays in Anthropic's own shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from antiphon.apis.histories import shortest
from antiphon.apis.reading import fault, read_list, read_object, read_objects, read_text
from antiphon.document import Document

# What stands on a block beside what it says.
_OF_TEXT: Final = ("cache_control", "citations")
_OF_IMAGE: Final = ("cache_control", "transformations")
_OF_DOCUMENT: Final = ("cache_control", "citations", "context")


def read_content(value: object, param: str) -> str | list[Document]:
    """A content: a text, or parts. One block of text and nothing else is a text."""
    if isinstance(value, str):
        return value
    if value is None:
        raise fault(param, "Field required", "missing_required_parameter")
    parts = [read_part(block, path) for path, block in read_objects(read_list(value, param), param)]
    return shortest(parts)


def read_part(block: Document, param: str) -> Document:
    kind = read_text(block, "type", param)
    read = _READERS.get(kind)
    return dict(block) if read is None else read(block, param)


def read_text_part(block: Document, param: str) -> Document:
    part: Document = {"type": "text", "text": read_text(block, "text", param)}
    return _carry(block, part, _OF_TEXT)


def _read_image(block: Document, param: str) -> Document:
    source = read_object(block.get("source"), f"{param}.source")
    kind = read_text(source, "type", f"{param}.source")
    if kind == "base64":
        url = _data_url(source, f"{param}.source")
    elif kind == "url":
        url = read_text(source, "url", f"{param}.source")
    else:
        return dict(block)  # a file of Anthropic's
    return _carry(block, {"type": "image_url", "image_url": {"url": url}}, _OF_IMAGE)


def _read_document(block: Document, param: str) -> Document:
    """A text stays in Anthropic's shape: it is read there by whoever judges it."""
    source = read_object(block.get("source"), f"{param}.source")
    kind = read_text(source, "type", f"{param}.source")
    file: Document = {}
    if kind == "base64":
        file["file_data"] = _data_url(source, f"{param}.source")
    elif kind == "url":
        file["file_url"] = read_text(source, "url", f"{param}.source")
    elif kind == "file":
        file["file_id"] = read_text(source, "file_id", f"{param}.source")
    else:
        return dict(block)
    if block.get("title") is not None:
        file["filename"] = read_text(block, "title", param)
    return _carry(block, {"type": "file", "file": file}, _OF_DOCUMENT)


def _data_url(source: Document, param: str) -> str:
    return f"data:{read_text(source, 'media_type', param)};base64,{read_text(source, 'data', param)}"


def _carry(block: Document, part: Document, keys: tuple[str, ...]) -> Document:
    part.update((key, block[key]) for key in keys if block.get(key) is not None)
    return part


_READERS: Final[Mapping[str, Callable[[Document, str], Document]]] = {
    "text": read_text_part,
    "image": _read_image,
    "document": _read_document,
}

"""The parts of a message's content, and of a tool's output, as Chat Completions spells them."""

from __future__ import annotations

from typing import Final

from antiphon.apis.responses.notes import RequestNotes, as_list, as_object, as_text, at, text_of, type_of, unsupported
from antiphon.chat.checks import missing, wrong_type, wrong_value
from antiphon.document import Document

KINDS: Final = ("input_text", "input_image", "input_audio", "input_file", "output_text", "refusal")
NO_FILES: Final = "the upstream is asked by Chat Completions, which takes images as `image_url` only"
NO_URLS: Final = "the upstream is asked by Chat Completions, which takes files as `file_data` or `file_id` only"
_TEXTS: Final = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_ANSWERS: Final = frozenset({"annotations", "logprobs", "type", "text"})  # of an output that comes back


def read_content(value: object, path: str, notes: RequestNotes) -> str | list[Document]:
    """A string, or parts. One plain text is a string: every upstream takes that."""
    if type(value) is str:
        return value
    if type(value) is not list:
        raise at(path, wrong_type("one of a string or array of objects", value))
    read = [read_part(part, f"{path}[{index}]", notes) for index, part in enumerate(as_list(value, path))]
    parts = [part for part in read if part is not None]
    if not parts:
        return ""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        text: str = parts[0]["text"]
        return text
    return parts


def read_part(value: object, path: str, notes: RequestNotes) -> Document | None:
    """None: it is of no chat request."""
    part = as_object(value, path)
    kind = type_of(part, path)
    if kind in _TEXTS:
        return _text(part, path)
    if kind == "refusal":
        return {"type": "refusal", "refusal": text_of(part, "refusal", path)}
    if kind == "input_image":
        return _image(part, path, notes)
    if kind == "input_file":
        return _file(part, path, notes)
    if kind == "input_audio":
        if "input_audio" not in part:
            raise missing(f"{path}.input_audio")
        return part
    raise at(f"{path}.type", wrong_value(kind, KINDS))


def _text(part: Document, path: str) -> Document:
    text = text_of(part, "text", path)
    return {"type": "text", "text": text} | {key: part[key] for key in part if key not in _ANSWERS}


def _image(part: Document, path: str, notes: RequestNotes) -> Document | None:
    url, detail = part.get("image_url"), part.get("detail")
    if url is None:
        if part.get("file_id") is not None:
            notes.refuse(unsupported(f"{path}.file_id", NO_FILES))
            return None
        raise missing(f"{path}.image_url")
    image: Document = {"url": as_text(url, f"{path}.image_url")}
    if detail is not None:
        image["detail"] = detail
    others = {key: part[key] for key in part.keys() - {"type", "image_url", "detail", "file_id"}}
    return {"type": "image_url", "image_url": image} | others


def _file(part: Document, path: str, notes: RequestNotes) -> Document | None:
    if part.get("file_url") is not None:
        notes.refuse(unsupported(f"{path}.file_url", NO_URLS))
        return None
    file = {key: part[key] for key in ("file_data", "file_id", "filename") if part.get(key) is not None}
    if "file_data" not in file and "file_id" not in file:
        raise missing(f"{path}.file_data")
    if part.get("detail") is not None:
        notes.drop(f"{path}.detail")
    others = {
        key: part[key] for key in part.keys() - {"type", "file_url", "detail", "file_data", "file_id", "filename"}
    }
    return {"type": "file", "file": file} | others

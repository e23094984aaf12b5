"""Parts of a message's content as content blocks. Parts in Anthropic's own shape travel as they are."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from typing import Final

from antiphon.document import Document
from antiphon.errors import RequestError
from antiphon.protocols.changes import Changes, refuse
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.parts import read_data_url

EPHEMERAL: Final = {"type": "ephemeral"}
PDF: Final = "application/pdf"
TEXT: Final = "text/plain"
# What may stand on a text part beside its text, and on a file part beside its file.
_OF_TEXT: Final = ("cache_control", "citations")
_READ_OF_TEXT: Final = ("type", "text", "refusal", "prompt_cache_breakpoint", *_OF_TEXT)
_OF_FILE: Final = ("cache_control", "citations", "context", "title")
_OF_IMAGE: Final = ("cache_control", "transformations")
_TEXTUAL: Final = re.compile(r"text/.+|application/(?:json|xml|yaml|x-yaml|javascript|toml|x-ndjson)")


def text_block(text: str) -> Document:
    return {"type": "text", "text": text}


class AnthropicBlocks:
    """Translates parts. `needs_oldest`: only the oldest version of the API takes what it has translated."""

    __slots__ = ("_changes", "_facts", "needs_oldest")

    def __init__(self, facts: ModelFacts, changes: Changes) -> None:
        self._facts = facts
        self._changes = changes
        self.needs_oldest = False

    def of(self, content: object, place: int, role: str) -> list[Document]:
        """The blocks of a content. Blank texts are left out: the API refuses them."""
        if isinstance(content, str):
            return [text_block(content)] if content.strip() else []
        blocks: list[Document] = []
        for number, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict):
                block = self._block(part, f"messages[{place}].content[{number}]", role)
                if block is not None:
                    blocks.append(block)
        return blocks

    def _block(self, part: Document, param: str, role: str) -> Document | None:
        kind = part.get("type")
        if kind == "text" or kind == "refusal":
            return self._text(part, str(part.get(kind) or ""), param, role)
        if kind == "image_url":
            return self._image(part, param)
        if kind == "file":
            return self._file(part, param)
        if kind == "input_audio":
            raise refuse(param, "it takes no audio")
        if kind == "image":
            self._check_images(param)
        if kind == "document" and role == "assistant":
            self.needs_oldest = True
        return part

    def _text(self, part: Document, text: str, param: str, role: str) -> Document | None:
        if not text.strip():
            return None
        block = text_block(text)
        if len(part) > 2:
            self._carry(part, block, _OF_TEXT)
            if block.get("citations") and role != "assistant":
                self.needs_oldest = True
            for key in part:
                if key not in _READ_OF_TEXT:
                    self._changes.drop(f"{param}.{key}", "the vendor does not know it")
        return block

    def _image(self, part: Document, param: str) -> Document:
        self._check_images(param)
        image = part.get("image_url")
        if not isinstance(image, dict):
            image = {"url": image}
        detail = image.get("detail")
        if detail not in (None, "auto"):
            self._changes.drop(f"{param}.image_url.detail", "the vendor does not know it")
        block = {"type": "image", "source": _image_source(image.get("url"), param)}
        self._carry(part, block, _OF_IMAGE)
        return block

    def _check_images(self, param: str) -> None:
        if not self._facts.takes_images:
            raise refuse(param, "it takes no images")

    def _file(self, part: Document, param: str) -> Document:
        file = part.get("file")
        if not isinstance(file, dict):
            raise RequestError("A file is an object.", param=f"{param}.file", code="invalid_type")
        block: Document = {"type": "document", "source": self._file_source(file, f"{param}.file")}
        if block["source"].pop("is_image", False):
            block["type"] = "image"
        elif file.get("filename"):
            block["title"] = file["filename"]
        self._carry(file, block, _OF_FILE)
        self._carry(part, block, _OF_FILE)
        return block

    def _file_source(self, file: Document, param: str) -> Document:
        if file.get("file_id"):
            return {"type": "file", "file_id": file["file_id"]}
        if file.get("file_url"):
            return {"type": "url", "url": file["file_url"]}
        data = file.get("file_data")
        if not isinstance(data, str) or not data:
            raise RequestError("A file needs 'file_data' or 'file_id'.", param=param, code="invalid_value")
        if data.startswith(("https://", "http://")):
            return {"type": "url", "url": data}
        media, encoded = (read_data_url(data) or ("", "")) if data.startswith("data:") else (PDF, data)
        if media.startswith("image/"):
            self._check_images(param)
            return {"type": "base64", "media_type": media, "data": encoded, "is_image": True}
        if media == PDF:
            return {"type": "base64", "media_type": media, "data": encoded}
        if _TEXTUAL.fullmatch(media):
            return {"type": "text", "media_type": TEXT, "data": _decoded(encoded, f"{param}.file_data")}
        raise refuse(f"{param}.file_data", "it takes files of the types PDF, text and image, in base64")

    def _carry(self, part: Document, block: Document, keys: Iterable[str]) -> None:
        """Takes over the vendor's own keys, and OpenAI's mark where a cached prompt ends."""
        for key in keys:
            if part.get(key) is not None:
                block[key] = part[key]
        if part.get("prompt_cache_breakpoint") is not None:
            block.setdefault("cache_control", EPHEMERAL)


def _image_source(url: object, param: str) -> Document:
    found = None
    if isinstance(url, str):
        if not url.startswith("data:"):
            return {"type": "url", "url": url}
        found = read_data_url(url)
    if found is None or not found[0].startswith("image/"):
        raise RequestError(
            "Invalid image: expected a URL or a data URL with an image in base64.",
            param=f"{param}.image_url.url",
            code="invalid_image_url",
        )
    return {"type": "base64", "media_type": found[0], "data": found[1]}


def _decoded(encoded: str, param: str) -> str:
    try:
        return binascii.a2b_base64(encoded).decode()
    except ValueError:
        raise RequestError("The file is not text in base64 and UTF-8.", param=param, code="invalid_value") from None

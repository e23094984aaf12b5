"""One part of a message's content -> a content block of Converse."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.changes import refuse
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.parts import read_data_url

# Converse's own blocks, which a client may send as a part {"type": name, name: {…}} or {name: {…}}.
OWN_BLOCKS: Final = frozenset(
    {
        *("image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint"),
        *("reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval"),
    }
)
IMAGES: Final = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
VIDEOS: Final = {
    **{"video/mp4": "mp4", "video/webm": "webm", "video/quicktime": "mov", "video/x-matroska": "mkv"},
    **{"video/x-flv": "flv", "video/mpeg": "mpeg", "video/x-ms-wmv": "wmv", "video/3gpp": "three_gp"},
}
AUDIOS: Final = {"x-wav": "wav", "wave": "wav", "pcm16": "pcm", "x-m4a": "m4a"}
DOCUMENTS: Final = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
    "text/x-markdown": "md",
}
FORMATS: Final = frozenset(DOCUMENTS.values())
SIGNATURES: Final = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9\s\-()\[\]]+")
_SPACES: Final = re.compile(r"\s+")
MOST_NAME: Final = 200


class BedrockBlocks:
    """Reads the parts of one conversation. The names of its documents must differ, so they are remembered."""

    __slots__ = ("_facts", "_names")

    def __init__(self, facts: ModelFacts) -> None:
        self._facts = facts
        self._names: set[str] = set()

    def read(self, part: Document, param: str) -> list[Document]:
        """The part's block, and a cache point where it ends what is cached. `param` names the part in errors."""
        if len(part) == 2 and part.get("type") == "text" and type(part.get("text")) is str and part["text"]:
            return [{"text": part["text"]}]  # nearly all of them
        block = self._block(part, param)
        if block is None:
            return []
        if (point := cache_point(part)) is not None:
            return [block, point]
        return [block]

    def _block(self, part: Document, param: str) -> Document | None:
        kind = part.get("type")
        if kind in ("text", "refusal", "input_text", "output_text"):
            text = part.get("refusal" if kind == "refusal" else "text")
            return {"text": text} if isinstance(text, str) and text else None
        if kind == "image_url":
            return self._image(part.get("image_url"), f"{param}.image_url")
        if kind == "file":
            return self._document(part.get("file"), f"{param}.file")
        if kind == "input_audio":
            return _audio(part.get("input_audio"), f"{param}.input_audio")
        if kind == "video_url":
            return _video(part.get("video_url"), f"{param}.video_url")
        return _own_block(part, param)

    def _image(self, image: Any, param: str) -> Document:
        if not self._facts.takes_images:
            raise refuse(param, "This model takes no images.")
        url, at = _url_of(image, param)
        if (location := _s3(url)) is not None:
            return {"image": {"format": _image_by_name(url, at), "source": location}}
        data = read_data_url(url)
        if data is None:
            raise refuse(at, "This upstream fetches no images: send it as a data URL (base64) or as s3://….")
        form = IMAGES.get(data[0].lower()) or _image_by_content(data[1])
        if form is None:
            raise refuse(at, "This upstream takes images as PNG, JPEG, GIF or WebP.")
        return {"image": {"format": form, "source": {"bytes": data[1]}}}

    def _document(self, file: Any, param: str) -> Document:
        file = file if isinstance(file, dict) else {}
        name = file.get("filename") if isinstance(file.get("filename"), str) else ""
        location = _s3(file.get("file_id"))
        if location is not None:
            form, source = _document_format("", file["file_id"]), location
        elif isinstance(file.get("file_data"), str) and file["file_data"]:
            media, data = read_data_url(file["file_data"]) or ("", file["file_data"])
            form, source = _document_format(media, name), {"bytes": data}
        else:
            raise refuse(f"{param}.file_id", "This upstream keeps no files: send it as `file_data` or as s3://….")
        if form is None:
            raise refuse(param, f"This upstream takes files as {', '.join(sorted(FORMATS))}.")
        document: Document = {"format": form, "name": self._name_of(name), "source": source}
        for key in ("context", "citations"):
            if key in file:
                document[key] = file[key]
        return {"document": document}

    def _name_of(self, filename: str) -> str:
        """Letters, digits, single spaces, hyphens and brackets are allowed (Bedrock's rule); no two are equal."""
        stem = filename.rpartition(".")[0] or filename
        wish = _SPACES.sub(" ", _NOT_IN_NAMES.sub("-", stem)).strip(" -")[: MOST_NAME - 8] or "document"
        name, number = wish, 2
        while name in self._names:
            name, number = f"{wish} {number}", number + 1
        self._names.add(name)
        return name


def cache_point(holder: Document) -> Document | None:
    """`cache_control` (Anthropic's name) or `prompt_cache_breakpoint` (OpenAI's) as a block of its own."""
    if "cache_control" not in holder and "prompt_cache_breakpoint" not in holder:
        return None
    control = holder.get("cache_control") or holder.get("prompt_cache_breakpoint")
    if not isinstance(control, dict):
        return None
    point: Document = {"type": "default"}
    if control.get("ttl") in ("5m", "1h"):
        point["ttl"] = control["ttl"]
    return {"cachePoint": point}


def _own_block(part: Document, param: str) -> Document:
    for name in part:
        if name in OWN_BLOCKS:
            return {name: part[name]}
    raise refuse(f"{param}.type", f"This upstream takes no parts of the type '{str(part.get('type'))[:64]}'.")


def _url_of(holder: Any, param: str) -> tuple[str, str]:
    """(URL, its param). `image_url` may be a bare string, as some vendors take it."""
    if isinstance(holder, str):
        return holder, param
    url = holder.get("url") if isinstance(holder, dict) else None
    return (url if isinstance(url, str) else ""), f"{param}.url"


def _s3(url: object) -> Document | None:
    return {"s3Location": {"uri": url}} if isinstance(url, str) and url.startswith("s3://") else None


def _image_by_name(url: str, param: str) -> str:
    form = IMAGES.get(f"image/{url.rpartition('.')[2].lower()}")
    if form is None:
        raise refuse(param, "This upstream takes images as PNG, JPEG, GIF or WebP, by the ending of their name.")
    return form


def _image_by_content(data: str) -> str | None:
    """A media type that is missing or wrong (`application/octet-stream`): the first bytes tell."""
    try:
        head = base64.b64decode(data[:16])
    except (binascii.Error, ValueError):
        return None
    return next((form for sign, form in SIGNATURES if head.startswith(sign)), None)


def _document_format(media: str, name: str) -> str | None:
    ending = name.rpartition(".")[2].lower()
    by_name = {"htm": "html", "markdown": "md", "text": "txt"}.get(ending, ending)
    if by_name in FORMATS:
        return by_name
    return DOCUMENTS.get(media.lower()) or ("txt" if media.startswith("text/") else None)


def _audio(audio: Any, param: str) -> Document:
    audio = audio if isinstance(audio, dict) else {}
    data, form = audio.get("data"), audio.get("format")
    if not isinstance(data, str) or not data or not isinstance(form, str):
        raise refuse(param, "This upstream takes audio as base64 in `data`, with its `format`.")
    return {"audio": {"format": AUDIOS.get(form, form), "source": {"bytes": data}}}


def _video(video: Any, param: str) -> Document:
    url, at = _url_of(video, param)
    if (location := _s3(url)) is not None:
        ending = url.rpartition(".")[2].lower()
        return {"video": {"format": {"3gp": "three_gp"}.get(ending, ending), "source": location}}
    data = read_data_url(url)
    form = VIDEOS.get(data[0].lower()) if data is not None else None
    if data is None or form is None:
        raise refuse(at, "This upstream takes videos as data URLs (base64) or as s3://….")
    return {"video": {"format": form, "source": {"bytes": data[1]}}}

"""One part of a message's content -> one part of Gemini's."""

from __future__ import annotations

import re
from typing import Any, Final

from antiphon.document import Document
from antiphon.errors import RequestError
from antiphon.protocols.changes import Changes, refuse
from antiphon.protocols.parts import read_data_url

# Gemini's own parts, for clients that send them as they are; both spellings are taken by the API.
_NATIVE: Final = ("inlineData", "fileData", "inline_data", "file_data")
_BESIDE_NATIVE: Final = ("videoMetadata", "video_metadata", "mediaResolution", "media_resolution")
_CACHES: Final = ("cache_control", "prompt_cache_breakpoint")
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_LINK: Final = re.compile(r"(?:https?|gs)://\S+|files/[\w-]+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_SUFFIX: Final = re.compile(r"\.(\w{2,5})(?:[?#]|$)")
_RESOLUTIONS: Final = {"low": "MEDIA_RESOLUTION_LOW", "high": "MEDIA_RESOLUTION_HIGH"}
_TYPES: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "html": "text/html",
    "csv": "text/csv",
    "xml": "text/xml",
    "json": "application/json",
    "wav": "audio/wav",
    "mp3": "audio/mp3",
    "flac": "audio/flac",
    "aac": "audio/aac",
    "ogg": "audio/ogg",
    "opus": "audio/opus",
    "m4a": "audio/m4a",
    "pcm16": "audio/pcm",
    "mp4": "video/mp4",
    "mpeg": "video/mpeg",
    "mov": "video/quicktime",
    "webm": "video/webm",
    "avi": "video/x-msvideo",
}
# Gemini reads `text/plain` for these, and refuses their own names.
_PLAIN: Final = frozenset({"application/json", "application/x-yaml", "application/toml"})


class Media:
    """Reads parts for one model."""

    __slots__ = ("_changes", "_images", "_resolution")

    def __init__(self, changes: Changes, *, images: bool, resolution: bool) -> None:
        self._changes = changes
        self._images = images
        self._resolution = resolution  # does a part take one of its own?

    def part(self, part: Document, param: str) -> Document:
        kind = part.get("type")
        for key in _CACHES:
            if part.get(key) is not None:
                self._changes.drop(f"{param}.{key}", "Gemini caches by itself, or by cachedContent")
        if kind in _TEXTS:
            return {"text": _string(part.get("text"), param + ".text")}
        if kind == "image_url":
            return self._image(part, param)
        if kind == "input_audio":
            return self._audio(part, param)
        if kind in ("file", "input_file"):
            return self._file(part, param)
        if kind == "video_url":
            return self._linked(part, "video_url", "video/mp4", param)
        if kind == "audio_url":
            return self._linked(part, "audio_url", "audio/mp3", param)
        if kind == "refusal":
            return {"text": _string(part.get("refusal"), param + ".refusal")}
        if any(key in part for key in _NATIVE):
            return {key: value for key, value in part.items() if key in _NATIVE or key in _BESIDE_NATIVE}
        raise refuse(param + ".type", f"Gemini has no content part of the type '{str(kind)[:64]}'")

    def _image(self, part: Document, param: str) -> Document:
        if not self._images:
            raise refuse(param, "the model takes no images")
        said = self._linked(part, "image_url", "image/jpeg", param)
        image = part.get("image_url")
        detail = image.get("detail") if isinstance(image, dict) else None
        if isinstance(detail, str) and detail in _RESOLUTIONS:
            if self._resolution:
                said["mediaResolution"] = {"level": _RESOLUTIONS[detail]}
            else:
                self._changes.drop(param + ".image_url.detail", "the model takes no resolution of one image")
        return said

    def _audio(self, part: Document, param: str) -> Document:
        audio = part.get("input_audio")
        if not isinstance(audio, dict):
            raise refuse(param + ".input_audio", "it is no object")
        form = str(audio.get("format") or "wav")
        return _inline(_TYPES.get(form, "audio/" + form), audio.get("data"), param + ".input_audio.data")

    def _file(self, part: Document, param: str) -> Document:
        file = part.get("file") if isinstance(part.get("file"), dict) else part
        assert isinstance(file, dict)
        guess = _guess(str(file.get("filename") or ""), "application/pdf")
        if (file_id := file.get("file_id")) is not None:
            kind = file.get("format") or file.get("mime_type") or guess
            return _link(_string(file_id, param + ".file.file_id"), kind, param + ".file.file_id")
        data = _string(file.get("file_data"), param + ".file.file_data")
        return _url(data, guess, param + ".file.file_data", bare=True)

    def _linked(self, part: Document, key: str, default: str, param: str) -> Document:
        holder: Any = part.get(key)
        where = f"{param}.{key}"
        kind = default
        if isinstance(holder, dict):
            kind = holder.get("format") or holder.get("mime_type") or default  # LiteLLM's name for a media type
            holder, where = holder.get("url"), where + ".url"
        return _url(_string(holder, where), kind, where)


def _url(url: str, kind: str, param: str, *, bare: bool = False) -> Document:
    if url.startswith("data:"):
        found = read_data_url(url)
        if found is None:
            raise RequestError(
                f"Invalid '{param}': a data URL with base64 is expected.", param=param, code="invalid_value"
            )
        return _inline(found[0], found[1], param)
    if bare and _LINK.fullmatch(url) is None:
        return _inline(kind, url, param)
    return _link(url, _guess(url, kind), param)


def _inline(kind: str, data: Any, param: str) -> Document:
    data = _string(data, param)
    if _BASE64.fullmatch(data) is None:
        raise RequestError(f"Invalid '{param}': base64 is expected.", param=param, code="invalid_value")
    return {"inlineData": {"mimeType": "text/plain" if kind in _PLAIN else kind, "data": data}}


def _link(uri: str, kind: str, param: str) -> Document:
    if _LINK.fullmatch(uri) is None:
        raise RequestError(f"Invalid '{param}': a URL is expected.", param=param, code="invalid_value")
    return {"fileData": {"fileUri": uri, "mimeType": kind}}


def _guess(name: str, default: str) -> str:
    suffix = _SUFFIX.search(name.rpartition("/")[2])
    return _TYPES.get(suffix[1].lower(), default) if suffix else default


def _string(value: Any, param: str) -> str:
    if not isinstance(value, str):
        raise RequestError(f"Invalid '{param}': a string is expected.", param=param, code="invalid_type")
    return value

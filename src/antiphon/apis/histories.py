"""The messages of a request for an upstream that does not speak the API's own protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from antiphon.apis.changes import ApiChanges, unsupported
from antiphon.document import Document

# Rows of the catalog, by their names. Others speak the OpenAI protocol.
FOREIGN: Final = frozenset({"bedrock", "gemini", "vertex", "cohere"})
TAKES_MARKS: Final = frozenset({"bedrock", "openrouter"})  # `cache_control`
THINKING: Final = frozenset({"thinking", "redacted_thinking"})
# Keys of parts that only Anthropic reads.
_OWN: Final = ("citations", "context", "transformations")
_KNOWN: Final = frozenset({"text", "refusal", "image_url", "input_audio", "file"})
_SEEN_BELOW: Final = "[An image: it stands in the user's message below.]"


def shortest(parts: list[Document]) -> str | list[Document]:
    """Parts as a content: one text and nothing else is a text."""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        return str(parts[0]["text"])
    return parts


def fit_messages(
    messages: list[Document], protocol: str, changes: ApiChanges, *, keeps_thinking: bool = False
) -> list[Document]:
    """`keeps_thinking`: the upstream knows what the vendor has signed."""
    fitter = _Fitter(protocol, changes, keeps_thinking=keeps_thinking)
    out: list[Document] = []
    for place, message in enumerate(messages):
        if message["role"] != "tool" and fitter.images:
            out.append(fitter.tell_images())
        out.append(fitter.fit(message, f"messages[{place}]"))
    if fitter.images:
        out.append(fitter.tell_images())
    return out


class _Fitter:
    def __init__(self, protocol: str, changes: ApiChanges, *, keeps_thinking: bool) -> None:
        self._changes = changes
        self._keeps_marks = protocol in TAKES_MARKS
        self._keeps_thinking = keeps_thinking
        self._speaks_openai = protocol not in FOREIGN
        self.images: list[Document] = []  # of results, which the OpenAI protocol has no place for

    def tell_images(self) -> Document:
        images, self.images = self.images, []
        return {"role": "user", "content": images}

    def fit(self, message: Document, param: str) -> Document:
        content = message.get("content")
        if message.keys() <= {"role", "content"} and not isinstance(content, list):
            return message  # nearly every one
        out = dict(message)
        if isinstance(content, list):
            out["content"] = self._fit_content(content, message["role"], param, out)
        self._fit_keys(out, param)
        if "tool_calls" in out:
            out["tool_calls"] = [self._fit_call(call) for call in out["tool_calls"]]
        return out

    def _fit_keys(self, out: Document, param: str) -> None:
        if not self._keeps_marks:
            self._unmark(out)
        if "thinking_blocks" in out and not self._keeps_thinking:
            del out["thinking_blocks"]
            self._changes.tell(f"{param}.thinking_blocks", "what a vendor has signed is of use to it alone")
        if self._speaks_openai and out.pop("is_error", None):
            self._changes.tell(f"{param}.is_error", "the upstream does not know it")

    def _unmark(self, holder: Document) -> None:
        if holder.pop("cache_control", None) is not None:
            self._changes.tell("cache_control", "the upstream does not know it")

    def _fit_call(self, call: Document) -> Document:
        out = dict(call)
        if not self._keeps_marks:
            self._unmark(out)
        kept = {key: value for key, value in out.pop("extra_content", {}).items() if key != "anthropic"}
        return {**out, "extra_content": kept} if kept else out

    # Contents.

    def _fit_content(self, parts: list[Document], role: str, param: str, out: Document) -> str | list[Document] | None:
        fitted: list[Document] = []
        for place, part in enumerate(parts):
            path = f"{param}.content[{place}]"
            kind = part.get("type")
            if kind in THINKING:
                out.setdefault("thinking_blocks", []).append(part)
            elif kind not in _KNOWN:
                fitted += self._put_in_words(part, path, role)
            elif kind == "image_url" and role == "tool" and self._speaks_openai:
                self._changes.rewrite(path, "the upstream takes no images in results: it stands behind them")
                self.images.append(self._fit_part(part))
                fitted.append({"type": "text", "text": _SEEN_BELOW})
            else:
                fitted.append(self._fit_part(part))
        if not fitted:
            return None if role == "assistant" else ""
        return shortest(fitted)

    def _fit_part(self, part: Document) -> Document:
        out = {key: value for key, value in part.items() if key not in _OWN}
        if not self._keeps_marks:
            self._unmark(out)
        return out

    def _put_in_words(self, part: Document, param: str, role: str) -> Iterator[Document]:
        """What has no part in Chat Completions: its text, where it has one."""
        kind = part.get("type")
        if kind == "image":
            raise unsupported(param, "the model's upstream has no files of the vendor's")
        if kind not in ("document", "search_result"):
            self._changes.drop(param, f"'{kind}' is a block of the vendor's own")
            return
        self._changes.rewrite(param, "the upstream takes it as text")
        source = part.get("source")
        content = source.get("content", source.get("data")) if isinstance(source, dict) else part.get("content")
        heads = [part.get("title"), part.get("context"), source if isinstance(source, str) else None]
        texts = [head for head in heads if isinstance(head, str) and head]
        for inner in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if isinstance(inner, dict) and isinstance(inner.get("text"), str):
                texts.append(inner["text"])
            elif isinstance(inner, dict) and inner.get("type") == "image":
                raise unsupported(param, "the model's upstream takes no image inside a document")
        if texts:
            yield {"type": "text", "text": "\n".join(texts)}

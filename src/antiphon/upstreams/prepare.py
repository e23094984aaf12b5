"""A request as one upstream takes it. The client's document is never altered: what changes is copied first.

Every change is named [changes-named]: nothing is dropped or renamed silently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import UNSET

from antiphon.chat.plain_fields import FIELDS
from antiphon.chat.plain_request import PlainRequest, write_plain
from antiphon.chat.text import flatten
from antiphon.document import Document
from antiphon.errors import RequestError
from antiphon.flow.ports import Change, Prepared
from antiphon.upstreams.catalog import VendorRow


def prepare(document: Document, model: str, row: VendorRow, lacks: frozenset[str], *, strict: bool) -> Prepared:
    out = dict(document)
    changes: list[Change] = []
    if out["model"] != model:
        _readdress(out, model, changes)
    if row.renames:
        _rename(out, row, changes)
    if lacks:
        drop(out, lacks, strict, changes)
    if row.takes is not None:
        _keep(out, row.takes, changes)
    if document.get("stream"):
        _ask_usage(out, row, lacks, changes)
        if row.hides_sizes:
            _ask_quiet(out)
    if row.stop_list and isinstance(out.get("stop"), str):
        out["stop"] = [out["stop"]]
        changes.append(Change("stop", "rewritten", "the upstream takes a list"))
    if row.text_only or not row.reasoning_history:
        out["messages"] = _messages(out["messages"], row, changes)
    return Prepared(out, tuple(changes))


def pass_through(
    document: Document, model: str, row: VendorRow, lacks: frozenset[str], *, strict: bool, streams: bool
) -> Prepared:
    """For the endpoints beside chat: nothing changes but the model's name, what is lacking, and the asking for usage.
    `n` travels, lacking or not: there is no fan-out here, and fewer choices than asked for would be a silent loss."""
    out = dict(document)
    changes: list[Change] = []
    if out["model"] != model:
        _readdress(out, model, changes)
    drop(out, lacks - {"n"}, strict, changes)
    if row.takes is not None:
        _keep(out, row.takes, changes)
    if streams and document.get("stream"):
        _ask_usage(out, row, lacks, changes)
    return Prepared(out, tuple(changes))


@dataclass(frozen=True, slots=True)
class PlainRules:
    """How plain requests (`chat.plain_request`) are sent to one upstream."""

    absent: tuple[str, ...]  # fields that it would drop or rename
    text_only: bool
    stop_list: bool
    write: Callable[[PlainRequest, str], bytes]
    takes_all: bool  # every plain request

    def takes(self, asked: PlainRequest) -> bool:
        """Would `prepare` change nothing but what `write` changes?"""
        fields = asked.fields
        for name in self.absent:
            if getattr(fields, name) is not UNSET:
                return False
        if self.stop_list and type(fields.stop) is str:
            return False
        return not self.text_only or not any(type(message.content) is list for message in asked.messages)


def plain_rules(row: VendorRow, lacks: frozenset[str]) -> PlainRules | None:
    """None: no plain request can be sent as it is."""
    if row.is_foreign:
        return None
    asks_usage = _asks_usage(row, lacks)
    changed = {*lacks, *row.renames} if asks_usage else {*lacks, *row.renames, "stream_options"}
    absent = FIELDS & changed if row.takes is None else FIELDS & changed | FIELDS - row.takes
    if not absent.isdisjoint({"model", "messages"}):
        return None
    write = partial(write_plain, usage=asks_usage, quiet=bool(row.hides_sizes))
    takes_all = not (absent or row.text_only or row.stop_list)
    return PlainRules(tuple(sorted(absent)), row.text_only, row.stop_list, write, takes_all)


def _readdress(out: Document, model: str, changes: list[Change]) -> None:
    changes.append(Change("model", "rewritten", f"the route's target asks for '{model}'"))
    out["model"] = model


def _ask_usage(out: Document, row: VendorRow, lacks: frozenset[str], changes: list[Change]) -> None:
    """Usage is always asked for; the client sees it only if it asked [usage-chunk]."""
    options = out.get("stream_options")
    if not _asks_usage(row, lacks):
        if out.pop("stream_options", None) is not None:
            changes.append(Change("stream_options", "dropped", "the upstream does not support it"))
        return
    if options is not None and options.get("include_usage") is False:
        changes.append(Change("stream_options.include_usage", "rewritten", "usage is always asked for"))
    out["stream_options"] = {**(options or {}), "include_usage": True}


def _asks_usage(row: VendorRow, lacks: frozenset[str]) -> bool:
    return row.reports_usage and lacks.isdisjoint({"stream", "stream_options"})


def _ask_quiet(out: Document) -> None:
    """OpenAI pads every chunk unless told not to, and we would only take it off again. Who asks for it gets it."""
    options = out.get("stream_options")
    if options and options.get("include_obfuscation") is not True:
        options["include_obfuscation"] = False


def drop(out: Document, lacks: frozenset[str], strict: bool, changes: list[Change]) -> None:
    for param in sorted(lacks):
        if param not in out:
            continue
        if param != "n":  # fanned out by the flow, which says so in the receipt
            if strict and out[param] is not None:
                message = f"Unsupported parameter: '{param}' is not supported with this model."
                raise RequestError(message, param=param, code="unsupported_parameter")
            changes.append(Change(param, "dropped", "the upstream does not support it"))
        del out[param]


def _keep(out: Document, takes: frozenset[str], changes: list[Change]) -> None:
    for param in [param for param in out if param not in takes]:
        if out.pop(param) is not None:
            changes.append(Change(param, "dropped", "the upstream does not know it"))


def _rename(out: Document, row: VendorRow, changes: list[Change]) -> None:
    for param, name in row.renames.items():
        if param not in out:
            continue
        value = out.pop(param)
        if name in out and out[name] is not None:
            changes.append(Change(param, "dropped", f"the upstream knows it as '{name}', which was sent too"))
        else:
            out[name] = value
            changes.append(Change(param, "rewritten", f"the upstream knows it as '{name}'"))


def _messages(messages: list[Any], row: VendorRow, changes: list[Change]) -> list[Any]:
    out = []
    for position, message in enumerate(messages):
        content = message.get("content")
        if row.text_only and isinstance(content, list):
            flat = flatten(content)
            if not flat.rest:
                message = {**message, "content": flat.text or ""}
                changes.append(
                    Change(f"messages[{position}].content", "rewritten", "the upstream takes text as a string")
                )
        if not row.reasoning_history and "reasoning_content" in message:
            message = {key: value for key, value in message.items() if key != "reasoning_content"}
            changes.append(
                Change(f"messages[{position}].reasoning_content", "dropped", "the upstream refuses it in history")
            )
        out.append(message)
    return out

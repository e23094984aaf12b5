"""A request that was read from the Messages API, as one upstream takes it.

An upstream that speaks Anthropic's protocol takes it as it is. For others, what only Anthropic knows is said in their
words where they have any, else dropped and named. Tools that Anthropic itself runs are refused: no other upstream has
them.
"""

from __future__ import annotations

from typing import Final

from antiphon.apis.changes import ApiChanges, unsupported
from antiphon.apis.histories import TAKES_MARKS
from antiphon.apis.messages.tools import is_vendors
from antiphon.apis.targets import UNKNOWN, fit_common
from antiphon.document import Document

_OF_TOOL: Final = frozenset({"type", "function"})


def fit(document: Document, protocol: str, changes: ApiChanges) -> Document:
    """`protocol`: the upstream's row of the catalog. Never alters `document`."""
    if protocol.startswith("anthropic"):
        return document
    out = dict(document)
    keeps_marks = protocol in TAKES_MARKS
    if "tools" in out:
        out["tools"] = [
            _fit_tool(tool, f"tools.{place}", keeps_marks, changes) for place, tool in enumerate(out["tools"])
        ]
    _fit_effort(out, changes)
    return fit_common(out, protocol, changes, keeps_thinking=protocol == "bedrock")


def _fit_tool(tool: Document, param: str, keeps_marks: bool, changes: ApiChanges) -> Document:
    if is_vendors(tool):
        raise unsupported(param, f"'{tool['type']}' is a tool of Anthropic's own, which the model's upstream lacks")
    own = tool.keys() - _OF_TOOL
    if keeps_marks:
        own -= {"cache_control"}
    for key in sorted(own):
        changes.tell(key if key == "cache_control" else f"{param}.{key}", UNKNOWN)
    return {key: value for key, value in tool.items() if key not in own}


def _fit_effort(out: Document, changes: ApiChanges) -> None:
    """`output_config.effort` is `reasoning_effort` elsewhere."""
    config = out.pop("output_config", None) or {}
    effort = config.get("effort")
    thinking = out.get("thinking")
    if effort == "max":
        changes.rewrite("output_config.effort", "the upstream's highest is 'xhigh'")
        effort = "xhigh"
    if effort is not None and not (thinking is not None and thinking["type"] == "disabled"):
        out["reasoning_effort"] = effort
    for key in config.keys() - {"effort"}:
        changes.drop(f"output_config.{key}", UNKNOWN)

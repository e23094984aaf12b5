"""POST /v1/responses/compact: a conversation becomes one item, which stands for it in later requests.

The model that is asked writes a summary. The item carries it as one string. That is not secret: the client may read
it, and so may any model that is asked with it.
"""

from __future__ import annotations

from typing import Final

from antiphon.apis.responses.output import ResponseFrame, usage_of
from antiphon.apis.responses.summary import write_summary
from antiphon.document import Document
from antiphon.errors import RequestError, UpstreamError

COMPACT: Final = "compact"  # the action of its path
ASK: Final = (
    "Summarize the conversation above, so that it can go on from your summary alone. Keep what was asked for, decided, "
    "found and done, names, numbers, paths and code that are still needed, and what is left to do. Write nothing else."
)
# Of a request, what only shapes an answer: the summary is plain text.
SHAPES: Final = frozenset({"text", "tools", "tool_choice", "parallel_tool_calls", "top_logprobs", "store", "stream"})


def write_compaction(frame: ResponseFrame, completion: Document) -> Document:
    """Raises RequestError, UpstreamError: half a summary is none."""
    choice = completion["choices"][0]
    summary = choice["message"].get("content")
    if choice["finish_reason"] == "content_filter":
        raise RequestError("The summary was filtered.", code="content_filter")
    if choice["finish_reason"] != "stop" or not summary:
        raise UpstreamError("The model did not complete the summary.", code="upstream_truncated")
    return {
        "id": frame.id,
        "object": "response.compaction",
        "created_at": frame.created,
        "output": [{"id": frame.new_id("cmp_"), "type": "compaction", "encrypted_content": write_summary(summary)}],
        "usage": usage_of(completion["usage"]),
    }

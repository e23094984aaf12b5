"""Why an answer ended: vendors' words read into OpenAI's enum [finish-words].

`read_finish` reads one word; `settle_finish` decides what the client is told once it is known what was called.
A word that is in no row becomes `stop`, and travels beside it as `native_finish_reason`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from antiphon.errors import UpstreamError

if TYPE_CHECKING:
    from antiphon.chat.request import ChatRequest

STOP: Final = "stop"
LENGTH: Final = "length"
TOOL_CALLS: Final = "tool_calls"
CONTENT_FILTER: Final = "content_filter"
FUNCTION_CALL: Final = "function_call"

CUT: Final = (LENGTH, CONTENT_FILTER)  # these leave arguments as they are, and win over calls
FINISH_REASONS: Final = frozenset({STOP, LENGTH, TOOL_CALLS, CONTENT_FILTER, FUNCTION_CALL})

# Vendors' words, spelled without case, `_`, `-`, `.` and spaces, so END_TURN, end_turn and endTurn are one word.
_ROWS: Final[dict[str, str]] = {
    # Anthropic, Cohere, Gemini, Bedrock, TGI, Together, Reka, AI21
    STOP: (
        "stop eos eostoken eosfound endoftext endturn endofturn end stopsequence stopword stoptoken stopstring "
        "stopcriteriamet complete completed completion finish finished done pauseturn normal"
    ),
    # modellength: Mistral; modelcontextwindowexceeded: Anthropic; errorlimit: Cohere
    LENGTH: (
        "length maxtokens maxlength maxtoken maxnewtokens maxoutputtokens maxcompletiontokens maxtokensreached "
        "modellength lengthlimit tokenlimit contextlength contextlengthexceeded contextwindowexceeded "
        "modelcontextwindowexceeded outoftokens outofcontext errorlimit truncated incomplete"
    ),
    TOOL_CALLS: "toolcalls toolcall tooluse tooluses tool tools functioncalls",
    FUNCTION_CALL: "functioncall",
    # Gemini's block list; guardrailintervened: Bedrock; sensitive: Zhipu; refusal: Anthropic; errortoxic: Cohere
    CONTENT_FILTER: (
        "contentfilter contentfiltered contentfiltering filtered filter safety imagesafety recitation imagerecitation "
        "prohibitedcontent imageprohibitedcontent blocklist blocked spii guardrailintervened guardrail guardrails "
        "sensitive refusal refused moderation errortoxic contentpolicyviolation"
    ),
}
_WORDS: Final = {word: reason for reason, words in _ROWS.items() for word in words.split()}

# DashScope writes "null" while it generates; a protobuf default is no end either.
_NOT_YET: Final = frozenset({"", "null", "none", "finishreasonunspecified", "unspecified"})

# networkerror: Zhipu, the inference failed; abort: vLLM and SGLang, the engine gave up. The answer is not whole.
_FAILED: Final = frozenset({"error", "networkerror", "abort", "aborted"})

# The answer was cut for want of room (DeepSeek): the nearest truth is `length`; the vendor's word goes along.
_NEAREST: Final[dict[str, str]] = {"insufficientsystemresource": LENGTH}

_SEPARATORS: Final = {ord(character): None for character in "_-. "}


def read_finish(word: object) -> tuple[str | None, str | None]:
    """(enum value, or None while the choice goes on; the vendor's own word when no row has it).

    Raises UpstreamError for a word that says the upstream failed.
    """
    if word is None or word is False:
        return None, None
    if isinstance(word, dict):  # early SGLang: {"type": "stop", "matched": …}
        return read_finish(word.get("type"))
    if not isinstance(word, str):
        return (STOP, str(word)[:200]) if word else (None, None)
    if word in FINISH_REASONS:
        return word, None
    return _read_vendor(word)


def _read_vendor(word: str) -> tuple[str | None, str | None]:
    # Gemini's compatibility layer adds a detail: "content_filter: PROHIBITED_CONTENT".
    head, _, detail = word.partition(":")
    key = head.lower().translate(_SEPARATORS).removeprefix("finishreason")
    if key in _NOT_YET:
        return None, None
    if key in _FAILED:
        raise UpstreamError("The upstream ended its answer with an error.")
    if known := _WORDS.get(key):
        return known, word if detail else None
    return _NEAREST.get(key, STOP), word


def settle_finish(
    reason: str, request: ChatRequest, *, called: bool, legacy_called: bool, foreign: bool = False
) -> str:
    """What the client is told, given what the upstream said and what the choice called.

    `tool_calls` and `function_call` need a call. `foreign`: there is one of a vendor's own kind, which no client has to
    answer; the upstream's word stands beside it. `length` and `content_filter` win over calls. OpenAI itself answers
    `stop` when the request named the tool, so then the upstream's word stands. `function_call` exists for
    legacy `functions` requests only.
    """
    if reason in CUT:
        return reason
    if not (called or legacy_called):
        if reason == STOP or not foreign:
            return STOP
    elif reason == STOP and request.named_tool:
        return STOP
    if request.legacy_functions and not called and (legacy_called or reason == FUNCTION_CALL):
        return FUNCTION_CALL
    return TOOL_CALLS

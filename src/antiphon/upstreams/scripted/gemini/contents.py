"""The conversation of a GenerateContentRequest: who may say what, and which calls must be signed."""

from __future__ import annotations

import re

import msgspec

from antiphon.document import Document, objects_in
from antiphon.upstreams.scripted.gemini.answer import sign_call
from antiphon.upstreams.scripted.language import RefusedError
from antiphon.upstreams.scripted.reading import join, say_call
from antiphon.upstreams.scripted.signatures import is_signed

DATA = frozenset(
    {
        *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"),
        *("codeExecutionResult", "toolCall", "toolResponse"),
    }
)
ROLES = {"user": "user", "model": "assistant", "function": "user"}
# The word by which a client skips the check, for calls that another model made.
SKIP = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
UNSIGNED = re.compile(r"(?:[\w.-]+/)*(?:gemini-[12][.-]|gemma)")  # models that came before signatures were checked
MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call `{name}` , "
    "position {position}."
)
UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
ORDER = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
RESPONSE_ORDER = "Please ensure that function response turn comes immediately after a function call turn."


def read_contents(contents: object, model: str) -> list[Document]:
    if not isinstance(contents, list) or not contents:
        at = "contents"
        raise RefusedError(400, "* GenerateContentRequest.contents: contents is not specified\n", field=at)
    for index, content in enumerate(contents):
        check_content(content, index)
    check_order(contents)
    check_signatures(contents, required=UNSIGNED.match(model) is None)
    return [said for content in contents for said in say(content)]


def check_content(content: object, index: int) -> None:
    at = f"contents[{index}]"
    if not isinstance(content, dict):
        raise RefusedError(400, f"Invalid value at '{at}'.", field=at)
    if content.get("role", "user") not in ROLES:
        raise RefusedError(400, "Please use a valid role: user, model.")
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        where = f"{at}.parts"
        raise RefusedError(400, f"* GenerateContentRequest.{where}: contents.parts must not be empty.\n", field=where)
    for place, part in enumerate(parts):
        where = f"{at}.parts[{place}].data"
        if not isinstance(part, dict) or len(DATA & part.keys()) != 1:
            raise RefusedError(
                400,
                f"* GenerateContentRequest.{where}: required oneof field 'data' must have one initialized field\n",
                field=where,
            )
        check_response(part.get("functionResponse"), where)


def check_response(response: object, at: str) -> None:
    if response is None:
        return
    if not isinstance(response, dict) or not response.get("name"):
        raise RefusedError(
            400, f"* GenerateContentRequest.{at}.function_response.name: Name cannot be empty.\n", field=at
        )
    if not isinstance(response.get("response"), dict):
        raise RefusedError(400, f"Invalid value at '{at}.function_response.response'.", field=at)


def check_order(contents: list[Document]) -> None:
    """Calls follow a user's turn; their responses, all of them and no others, follow at once."""
    if len(contents) == 1 and contents[0].get("role") == "model":
        raise RefusedError(
            400, "Please ensure that single turn requests end with a user role or the role field is empty."
        )
    before: list[Document] = []
    for index, content in enumerate(contents):
        calls, responses = kinds(content, "functionCall"), kinds(content, "functionResponse")
        if calls and (index == 0 or contents[index - 1].get("role") == "model" or content.get("role") != "model"):
            raise RefusedError(400, ORDER)
        if responses and not before:
            raise RefusedError(400, RESPONSE_ORDER)
        if len(responses) != len(before):
            raise RefusedError(400, UNEQUAL)
        if sorted(r["name"] for r in responses) != sorted(str(call.get("name")) for call in before):
            raise RefusedError(400, UNEQUAL)
        before = calls
    if before:
        raise RefusedError(400, UNEQUAL)


def kinds(content: Document, kind: str) -> list[Document]:
    return [part[kind] for part in content["parts"] if isinstance(part.get(kind), dict)]


def check_signatures(contents: list[Document], *, required: bool) -> None:
    """The first call of each step must be signed, from the user's last words on; what is signed must be unchanged."""
    turn = max((at for at, content in enumerate(contents) if is_said(content)), default=0)
    position = 0
    for index, content in enumerate(contents):
        is_first = True
        for part in content["parts"]:
            position += 1
            call = part.get("functionCall")
            signature = part.get("thoughtSignature")
            if call is not None:
                if is_first and required and index > turn and not signature:
                    message = MISSING.format(name=f"default_api:{call.get('name')}", position=position)
                    raise RefusedError(400, message)
                is_first = False
            if signature:
                check_signature(part, signature)


def is_said(content: Document) -> bool:
    """Something that the user says, not a response of a function."""
    return content.get("role", "user") == "user" and any("functionResponse" not in part for part in content["parts"])


def check_signature(part: Document, signature: str) -> None:
    """Either alphabet of base64 will do."""
    if signature in SKIP:
        return
    plain = signature.translate({45: 43, 95: 47})
    call = part.get("functionCall")
    own = plain == sign_call(call.get("name", ""), call.get("args") or {}) if call else is_signed("text", "", plain)
    if not own:
        raise RefusedError(400, "Corrupted thought signature.")


def say(content: Document) -> list[Document]:
    parts = objects_in(content["parts"])
    responses = kinds(content, "functionResponse")
    if responses:
        return [{"role": "tool", "tool_call_id": "", "content": flat(response["response"])} for response in responses]
    said: Document = {"role": ROLES[content.get("role", "user")], "content": text_of(parts)}
    calls = [say_call("", call.get("name"), call.get("args") or {}) for call in kinds(content, "functionCall")]
    return [{**said, "tool_calls": calls}] if calls else [said]


def text_of(parts: list[Document]) -> str:
    return join(
        part.get("text", f"[{next(iter(DATA & part.keys()), 'part')}]") for part in parts if not part.get("thought")
    )


def flat(response: Document) -> str:
    said = response.get("output", response.get("result", response.get("error")))
    return said if isinstance(said, str) else msgspec.json.encode(response).decode()

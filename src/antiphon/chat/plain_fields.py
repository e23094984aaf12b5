"""The types of a plain request: what `fields`, `messages` and `tools` check, read in C.

They are narrower than those rules, never wider: OpenAI's own fields, words and limits, and nothing else at all (what
msgspec skips, it does not check). A key that was not sent is UNSET; a null is None.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from antiphon.chat.fields import INT64, MOST_KEY, MOST_PAIRS, MOST_VALUE
from antiphon.chat.tools import MOST_TOOLS

T = TypeVar("T")
Maybe: TypeAlias = T | UnsetType | None

# A literal without a fraction stays an integer, so that it is written again as it was.
Number = Annotated[int, Meta(ge=0, le=2)] | Annotated[float, Meta(ge=0, le=2)]
Share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)]
Penalty = Annotated[int, Meta(ge=-2, le=2)] | Annotated[float, Meta(ge=-2, le=2)]
Name = Annotated[str, Meta(min_length=1, max_length=64)]  # its letters: `plain_request`
Schema = dict[str, Any]


class Plain(Struct, gc=False, forbid_unknown_fields=True):
    """Nothing here can refer back to itself: the garbage collector need not look at it."""


class PlainPart(Plain, tag_field="type"):
    """One part of a message's content."""


class TextPart(PlainPart, tag="text"):
    text: str


class ImageUrl(Plain):
    url: str
    detail: Maybe[Literal["auto", "low", "high"]] = UNSET


class ImagePart(PlainPart, tag="image_url"):
    image_url: ImageUrl


class InputAudio(Plain):
    data: str
    format: Literal["wav", "mp3"]


class AudioPart(PlainPart, tag="input_audio"):
    input_audio: InputAudio


class PlainFile(Plain):
    file_data: Maybe[str] = UNSET
    file_id: Maybe[str] = UNSET
    filename: Maybe[str] = UNSET


class FilePart(PlainPart, tag="file"):
    file: PlainFile


class RefusalPart(PlainPart, tag="refusal"):
    refusal: str


UserParts = Annotated[list[TextPart | ImagePart | AudioPart | FilePart], Meta(min_length=1)]
AssistantParts = Annotated[list[TextPart | RefusalPart], Meta(min_length=1)]
# msgspec tells the members of a union by their tags; of a single type it would not ask for one.
TextParts = Annotated[list["OnlyTextPart"], Meta(min_length=1)]


class OnlyTextPart(Plain):
    type: Literal["text"]
    text: str


class CalledFunction(Plain):
    name: Annotated[str, Meta(min_length=1)]
    arguments: str


class PlainCall(Plain):
    id: str
    type: Literal["function"]
    function: CalledFunction


class PlainMessage(Plain, tag_field="role"):
    role: ClassVar[str]


class SystemMessage(PlainMessage, tag="system"):
    role = "system"
    content: Maybe[str | TextParts] = UNSET
    name: Maybe[str] = UNSET


class DeveloperMessage(PlainMessage, tag="developer"):
    role = "developer"
    content: Maybe[str | TextParts] = UNSET
    name: Maybe[str] = UNSET


class UserMessage(PlainMessage, tag="user"):
    role = "user"
    content: Maybe[str | UserParts] = UNSET
    name: Maybe[str] = UNSET


class AssistantMessage(PlainMessage, tag="assistant"):
    role = "assistant"
    content: Maybe[str | AssistantParts] = UNSET
    refusal: Maybe[str] = UNSET
    tool_calls: Maybe[Annotated[list[PlainCall], Meta(min_length=1)]] = UNSET
    name: Maybe[str] = UNSET


class ToolMessage(PlainMessage, tag="tool"):
    role = "tool"
    tool_call_id: str
    content: Maybe[str | TextParts] = UNSET
    name: Maybe[str] = UNSET


AnyMessage = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage


class PlainFunction(Plain):
    name: Name
    description: Maybe[str] = UNSET
    parameters: Maybe[Schema] = UNSET
    strict: Maybe[bool] = UNSET


class FunctionTool(Plain):
    type: Literal["function"]
    function: PlainFunction


class PlainNamed(Plain):
    name: str


class NamedChoice(Plain):
    type: Literal["function"]
    function: PlainNamed


class Format(Plain, tag_field="type"):
    """A `response_format`."""


class TextFormat(Format, tag="text"):
    pass


class ObjectFormat(Format, tag="json_object"):
    pass


class NamedSchema(Plain):
    name: Name
    description: Maybe[str] = UNSET
    schema: Maybe[Schema] = UNSET
    strict: Maybe[bool] = UNSET


class SchemaFormat(Format, tag="json_schema"):
    json_schema: NamedSchema


class StreamOptions(Plain):
    include_usage: Maybe[bool] = UNSET
    include_obfuscation: Maybe[bool] = UNSET


Metadata = Annotated[
    dict[Annotated[str, Meta(max_length=MOST_KEY)], Annotated[str, Meta(max_length=MOST_VALUE)]],
    Meta(max_length=MOST_PAIRS),
]


class Fields(Plain):
    model: Annotated[str, Meta(min_length=1)]
    messages: Annotated[list[AnyMessage], Meta(min_length=1)]
    stream: Maybe[bool] = UNSET
    stream_options: Maybe[StreamOptions] = UNSET
    temperature: Maybe[Number] = UNSET
    top_p: Maybe[Share] = UNSET
    max_tokens: Maybe[Annotated[int, Meta(ge=0, le=INT64)]] = UNSET
    max_completion_tokens: Maybe[Annotated[int, Meta(ge=1, le=INT64)]] = UNSET
    tools: Maybe[Annotated[list[FunctionTool], Meta(max_length=MOST_TOOLS)]] = UNSET
    tool_choice: Maybe[Literal["none", "auto", "required"] | NamedChoice] = UNSET
    parallel_tool_calls: Maybe[bool] = UNSET
    response_format: Maybe[TextFormat | ObjectFormat | SchemaFormat] = UNSET
    n: Maybe[Literal[1]] = UNSET
    stop: Maybe[str | Annotated[list[str], Meta(max_length=4)]] = UNSET
    seed: Maybe[Annotated[int, Meta(ge=-INT64 - 1, le=INT64)]] = UNSET
    frequency_penalty: Maybe[Penalty] = UNSET
    presence_penalty: Maybe[Penalty] = UNSET
    logprobs: Maybe[bool] = UNSET
    top_logprobs: Maybe[Annotated[int, Meta(ge=0, le=20)]] = UNSET
    logit_bias: Maybe[dict[str, Annotated[int, Meta(ge=-100, le=100)]]] = UNSET
    modalities: Maybe[list[Literal["text"]]] = UNSET
    reasoning_effort: Maybe[Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]] = UNSET
    verbosity: Maybe[Literal["low", "medium", "high"]] = UNSET
    service_tier: Maybe[Literal["auto", "default", "flex", "scale", "priority", "fast"]] = UNSET
    store: Maybe[bool] = UNSET
    metadata: Maybe[Metadata] = UNSET
    user: Maybe[str] = UNSET
    safety_identifier: Maybe[Annotated[str, Meta(max_length=64)]] = UNSET
    prompt_cache_key: Maybe[str] = UNSET
    prompt_cache_retention: Maybe[Literal["in_memory", "24h"]] = UNSET


FIELDS: Final = frozenset(Fields.__struct_fields__)


class SimpleMessage(Plain):
    role: Literal["system", "developer", "user", "assistant"]
    content: str


class SimpleFields(Plain):
    """The same for the usual request: messages of plain text, a few numbers. Read and written in half the time."""

    model: Annotated[str, Meta(min_length=1)]
    messages: Annotated[list[SimpleMessage], Meta(min_length=1)]
    stream: Maybe[bool] = UNSET
    stream_options: Maybe[StreamOptions] = UNSET
    temperature: Maybe[Number] = UNSET
    top_p: Maybe[Share] = UNSET
    max_tokens: Maybe[Annotated[int, Meta(ge=0, le=INT64)]] = UNSET
    max_completion_tokens: Maybe[Annotated[int, Meta(ge=1, le=INT64)]] = UNSET
    stop: Maybe[str] = UNSET
    seed: Maybe[Annotated[int, Meta(ge=-INT64 - 1, le=INT64)]] = UNSET
    frequency_penalty: Maybe[Penalty] = UNSET
    presence_penalty: Maybe[Penalty] = UNSET
    user: Maybe[str] = UNSET

    # What it has not
    tools = tool_choice = parallel_tool_calls = response_format = n = UNSET
    logprobs = top_logprobs = logit_bias = modalities = reasoning_effort = verbosity = service_tier = UNSET
    store = metadata = safety_identifier = prompt_cache_key = prompt_cache_retention = UNSET

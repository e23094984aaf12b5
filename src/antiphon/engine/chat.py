"""POST /v1/chat/completions on the engine: messages in, chunks out, in the one shape that the gateway reads anyway."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from functools import partial
from typing import Final

from antiphon.chat.text import flatten
from antiphon.document import Document
from antiphon.engine.choice import CallChoice, GeneratedChoice, TextChoice
from antiphon.engine.engine import Engine
from antiphon.engine.generation import End, GeneratedText, generate, together, usage_of
from antiphon.engine.native_client import NativeClient
from antiphon.engine.reply import HostReply
from antiphon.engine.response_format import answer_grammar
from antiphon.engine.sampling import budget, is_repeatable, sampling
from antiphon.engine.schema.compiler_client import Compiler
from antiphon.engine.schema.grammar import START
from antiphon.engine.tools.choice import Heard, Probe, Trial, heard_of
from antiphon.engine.tools.prompts import spell
from antiphon.engine.tools.toolbox import Tool, Toolbox
from antiphon.errors import RequestError

RESULT_SHARE: Final = 2  # characters of a tool's result for each token of the context: about half of it
GREEDY: Final[Document] = {"temperature": 0.0}


class ChatTurn:
    def __init__(self, engine: Engine, compiler: Compiler, document: Document, reply: HostReply) -> None:
        """Raises RequestError for what this model cannot do."""
        self._engine = engine
        self._compiler = compiler
        self._document = document
        self._reply = reply
        self._messages = plain(document)
        self._toolbox: Toolbox | None = None
        self._grammar: str | None = None
        self._head: Document = {}

    async def run(self) -> None:
        engine, words = self._engine, spell(self._messages, RESULT_SHARE * self._engine.options.context)
        engine.check_size((text for _, text in words), param="messages", what="messages")
        reading = self._compiler.reading()
        self._toolbox = await Toolbox.read(self._document, reading)
        self._grammar = await answer_grammar(self._document, self._messages, reading, engine.bounds)
        async with engine.slots.place() as ticket:
            prompt = await engine.prepare(ticket, lambda native: engine.template.tokens(native, words))
            engine.check_length(len(prompt), param="messages", what="messages")
            engine.check_sampling(self._document)
            self._head = engine.head("chatcmpl-", "chat.completion.chunk")
            n = self._document.get("n") or 1
            choices = [partial(engine.in_slot, ticket, partial(self._choice, index, prompt)) for index in range(n)]
            ends = await together(choices, one_by_one=is_repeatable(self._document))
        self._reply.finish(usage_of(ends[0].prompt, ends))

    async def _choice(self, index: int, prompt: list[int], native: NativeClient) -> End:
        toolbox, tool = self._toolbox, await self._tool(native)
        if toolbox is None or tool is None:
            order, check = sampling(self._document, index, self._engine.chat_defaults), None
            if self._grammar is not None:  # which repeats its quotes and its keys, and knows its end
                order = {**sampling(self._document, index), "grammar": self._grammar}
                check = partial(self._compiler.check, self._grammar)
            choice: GeneratedChoice = TextChoice(index, check, weighs=self._document.get("logprobs") is True)
            return await self._speak(choice, prompt, order, native)
        call = toolbox.order(tool, self._messages)
        prompt = await self._engine.template.plain(native, call.prompt)
        self._engine.check_length(len(prompt), param="messages", what="messages")
        order = {**sampling(self._document, index), **GREEDY, "grammar": call.grammar, "stop": []}
        check = partial(self._compiler.check, START + tool.rule)
        choice = CallChoice(index, call.reader(), check, legacy=toolbox.legacy, named=toolbox.named)
        return await self._speak(choice, prompt, order, native)

    async def _speak(self, choice: GeneratedChoice, prompt: list[int], order: Document, native: NativeClient) -> End:
        document = self._document
        most = budget(document, len(prompt), self._engine.context)
        wanted = (document.get("top_logprobs") or 0) if document.get("logprobs") is True else None
        async with aclosing(generate(native, prompt, most, order, top_logprobs=wanted)) as items:
            async for item in items:
                if isinstance(item, End):
                    return await self._end(choice, item)
                self._put(await choice.say(item))
                if choice.over:
                    return await self._end(choice, End(cut=False, prompt=len(prompt), cached=0, completion=item.tokens))
        raise AssertionError("a generation ends with its End")

    async def _end(self, choice: GeneratedChoice, end: End) -> End:
        self._put(await choice.end(end))
        return end

    def _put(self, entries: Iterable[Document]) -> None:
        for entry in entries:
            self._reply.chunk({**self._head, "choices": [entry]})

    # Tools

    async def _tool(self, native: NativeClient) -> Tool | None:
        """The tool to call: as the request demands it, or as the model would have it."""
        if self._toolbox is None:
            return None
        plan = self._toolbox.plan(self._messages)
        if not isinstance(plan, Probe):
            return plan
        return self._toolbox.judged(plan, [await self._try(trial, native) for trial in plan.trials])

    async def _try(self, trial: Trial, native: NativeClient) -> Heard:
        """Trials share most of their prompt, so they use the cache also where the answer itself does not."""
        prompt = await self._engine.template.plain(native, trial.prompt)
        order = {**GREEDY, "grammar": trial.grammar, "cache_prompt": True}
        entries: list[Document] = []
        async with aclosing(generate(native, prompt, trial.n_predict, order, top_logprobs=1)) as items:
            async for item in items:
                if isinstance(item, GeneratedText):
                    entries += item.logprobs
        return heard_of(entries)


# Messages as plain texts. What is no text is refused by its place.

READABLE: Final = frozenset({"text", "refusal", "input_text", "output_text"})


def plain(document: Document) -> list[Document]:
    """A request's messages, each with its content as one string; the other keys stay."""
    if "audio" in (document.get("modalities") or ()):
        raise RequestError("This model does not support the 'audio' modality, it writes text only.", param="modalities")
    messages = document["messages"]
    return [{**message, "content": _text(message, position)} for position, message in enumerate(messages)]


def _text(message: Document, position: int) -> str:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in READABLE:
            raise RequestError(
                f"Invalid content type. {kind} is not supported by this model, which reads text only.",
                param=f"messages[{position}].content[{index}].type",
            )
    flat = flatten(content)
    return flat.text or flat.refusal or ""

"""The compiler's process: whatever a schema holds, it is answered soon, and the next one is read as ever."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from antiphon.engine.schema.compiler import CompilerAnswer
from antiphon.engine.schema.compiler_client import MOST_ASKING, MOST_REMEMBERED, CompileCache, Compiler, SchemaPlace
from antiphon.engine.schema.grammar import START
from antiphon.engine.schema.narrow import SMALL
from antiphon.errors import AntiphonError, OverloadError, RequestError
from tests.support.engine import descendants

PLACE = SchemaPlace("function 'f'", "tools[0].function.parameters", "invalid_function_parameters")
PLAIN = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest_asyncio.fixture
async def compiler() -> AsyncIterator[Compiler]:
    made = Compiler(lambda: "/no/model", SMALL, {**os.environ, "A_SECRET": "hidden"})
    yield made
    await made.close()


def doubled() -> dict[str, Any]:
    links: dict[str, Any] = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(25)
    }
    return {"$ref": "#/$defs/d0", "$defs": links | {"d25": {"type": "string"}}}


ATTACKS: dict[str, Any] = {
    "thirty patterns at once": {"type": "string", "allOf": [{"pattern": f".*a{n}.*"} for n in range(30)]},
    "patterned keys": {"type": "object", "patternProperties": {f"^a{n}.*b": {"type": "string"} for n in range(350)}},
    "doubled references": doubled(),
    "objects to choose from": {"enum": [{"a": n, "b": [n]} for n in range(15_000)]},
    "a large remainder": {"type": "integer", "allOf": [{"multipleOf": 999_983}, {"multipleOf": 65_537}]},
    "a cycle of allOf": {"allOf": [{"$ref": "#"}]},
    "deep groups": {"type": "string", "pattern": "(" * 400 + "a" + ")?" * 400},
    "backtracking": {
        "properties": {"a" * 60: {"type": "string"}},
        "patternProperties": {"^(a+)+$b": {"type": "string"}},
        "required": ["a" * 60],
    },
}


@pytest.mark.parametrize("schema", ATTACKS.values(), ids=ATTACKS.keys())
async def test_no_schema_takes_long_or_much(compiler: Compiler, schema: Any) -> None:
    """Each is refused in OpenAI's words or read; what comes next is not its concern."""
    await compiler.reading().rule(PLAIN, PLACE)  # it is running now
    began = asyncio.get_running_loop().time()
    (error,) = await asyncio.gather(compiler.reading().rule(schema, PLACE), return_exceptions=True)
    assert isinstance(error, RequestError)
    assert (error.status, error.param, error.code) == (400, PLACE.param, PLACE.code)
    assert error.message.startswith("Invalid schema for function 'f': ")
    assert asyncio.get_running_loop().time() - began < 3
    rule = await compiler.reading().rule({**PLAIN, "title": "another"}, PLACE)
    await compiler.check(START + rule, '{"a": 1}')


async def test_the_schemas_of_one_request_share_their_time(compiler: Compiler) -> None:
    await compiler.reading().rule(PLAIN, PLACE)
    reading, began = compiler.reading(), asyncio.get_running_loop().time()
    for number in range(20):
        schema = {"type": "string", "allOf": [{"pattern": f".*a{n}{number}.*"} for n in range(30)]}
        with pytest.raises(RequestError, match="too complex"):
            await reading.rule(schema, PLACE)
    assert asyncio.get_running_loop().time() - began < 15


async def test_a_schema_in_a_message_that_is_too_much_is_none_and_costs_once(compiler: Compiler) -> None:
    schema = json.dumps({"properties": {"a": hostile("a")}, "required": ["a"]})
    assert await compiler.reading().rule_in([schema]) is None
    began = asyncio.get_running_loop().time()
    assert await compiler.reading().rule_in([f"Once more: {schema}"]) is None
    assert asyncio.get_running_loop().time() - began < 0.5


async def test_a_schema_in_a_message(compiler: Compiler) -> None:
    rule = await compiler.reading().rule_in(["Nothing here.", f"JSON like {json.dumps(PLAIN)}, please."])
    assert rule is not None
    await compiler.check(START + rule, '{"a": 1}')
    for text in ("Nothing", '{"properties": {"a": {"type": "banana"}}}', '{"properties": {"\\ud800": {"enum": []}}}'):
        assert await compiler.reading().rule_in([text]) is None
    huge = '{"properties": {"a": {"type": "integer", "maximum": ' + "9" * 30 + "}}}"
    assert await compiler.reading().rule_in([huge]) is not None
    assert await compiler.reading().rule_in([]) is None


async def test_one_who_goes_away_leaves_the_others_in_step(compiler: Compiler) -> None:
    await compiler.reading().rule(PLAIN, PLACE)
    for pause in (0.0, 0.001, 0.01, 0.1):
        slow = {"type": "string", "allOf": [{"pattern": f".*b{n}.*{pause}"} for n in range(30)]}
        task = asyncio.create_task(compiler.reading().rule(slow, PLACE))
        await asyncio.wait({task}, timeout=pause)
        task.cancel()
        with pytest.raises((asyncio.CancelledError, RequestError)):
            await task
        schema = {"const": f"after {pause}"}
        assert f"after {pause}" in await compiler.reading().rule(schema, PLACE)


async def test_many_at_once_get_their_own_answers(compiler: Compiler) -> None:
    rules = await asyncio.gather(*(compiler.reading().rule({"const": f"n{n}"}, PLACE) for n in range(MOST_ASKING)))
    assert all(f'"n{n}"' in rule for n, rule in enumerate(rules))


async def test_too_many_at_once_are_told_so(compiler: Compiler) -> None:
    asked = (compiler.reading().rule({"const": f"n{n}"}, PLACE) for n in range(MOST_ASKING + 3))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [answer.status for answer in answers if isinstance(answer, OverloadError)] == [429] * 3
    assert await compiler.reading().rule(PLAIN, PLACE)


async def test_what_was_read_is_remembered(compiler: Compiler) -> None:
    rule = await compiler.reading().rule(PLAIN, PLACE)
    await compiler.close()
    began = asyncio.get_running_loop().time()
    assert await compiler.reading().rule(PLAIN, PLACE) == rule
    assert asyncio.get_running_loop().time() - began < 0.05  # no process was started


def test_memory_of_answers_is_bounded() -> None:
    known = CompileCache()
    for number in range(100):
        known.keep(bytes([number]), CompilerAnswer(rule="x" * (MOST_REMEMBERED // 10)))
    assert known.find(bytes([99])) is not None
    assert known.find(bytes([98])) is not None
    assert known.find(bytes([80])) is None


async def test_the_last_look(compiler: Compiler) -> None:
    grammar = START + await compiler.reading().rule(PLAIN, PLACE)
    await compiler.check(grammar, '{"a": 1}')
    for text in ('{"a": "x"}', '{"a": 1', "Sure! Here it is:", ""):
        with pytest.raises(AntiphonError) as caught:
            await compiler.check(grammar, text)
        assert caught.value.code == "engine_error"


async def test_the_process_knows_no_secrets_and_is_bounded(compiler: Compiler) -> None:
    await compiler.reading().rule(PLAIN, PLACE)
    facts = [child_facts(pid) for pid in processes()]
    assert len(facts) == 2  # it and its copy
    for environ, limits in facts:
        assert b"PATH=" in environ
        assert b"hidden" not in environ
        (line,) = [line for line in limits.splitlines() if line.startswith("Max address space")]
        assert "unlimited" not in line


async def test_all_processes_end_with_it(compiler: Compiler) -> None:
    await compiler.reading().rule(PLAIN, PLACE)
    await compiler.close()
    assert processes() == []


def processes() -> list[int]:
    """Our own child and its copies: a gateway that other tests have started may have compilers, too."""
    children = [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    own = [pid for pid in children if b"engine.schema.compiler" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return own + [copy for pid in own for copy in descendants(pid)]


def child_facts(pid: int) -> tuple[bytes, str]:
    return Path(f"/proc/{pid}/environ").read_bytes(), Path(f"/proc/{pid}/limits").read_text()


# One client's schemas and another's


def hostile(letter: str, title: str = "") -> dict[str, Any]:
    return {"type": "string", "title": title, "allOf": [{"pattern": f".*{letter}{n}.*"} for n in range(30)]}


async def timed(compiler: Compiler, schema: Any) -> float:
    """Seconds until it is read or refused."""
    began = asyncio.get_running_loop().time()
    await asyncio.gather(compiler.reading().rule(schema, PLACE), return_exceptions=True)
    return asyncio.get_running_loop().time() - began


async def test_a_slow_schema_does_not_hold_up_the_others(compiler: Compiler) -> None:
    await compiler.reading().rule(PLAIN, PLACE)
    attacks = [asyncio.create_task(timed(compiler, hostile(letter))) for letter in "abcd"]
    rule = asyncio.create_task(compiler.reading().rule({"const": "innocent"}, PLACE))
    done, _ = await asyncio.wait({rule}, timeout=4)  # half of it, but for a busy machine
    assert done
    assert max(await asyncio.gather(*attacks)) < 5


async def test_the_same_slow_schema_costs_once(compiler: Compiler) -> None:
    """At the same time and later, whatever it is called."""
    await compiler.reading().rule(PLAIN, PLACE)
    at_once = await asyncio.gather(*(timed(compiler, hostile("a", f"title {n}")) for n in range(8)))
    assert max(at_once) < 3
    assert await timed(compiler, hostile("a", "another")) < 0.3


async def test_one_that_is_left_is_remembered(compiler: Compiler) -> None:
    await compiler.reading().rule(PLAIN, PLACE)
    task = asyncio.create_task(compiler.reading().rule(hostile("a"), PLACE))
    await asyncio.wait({task}, timeout=0.1)
    task.cancel()
    await asyncio.wait({task, asyncio.create_task(timed(compiler, hostile("a")))})
    assert await timed(compiler, hostile("a")) < 0.3


async def test_a_refusal_for_lack_of_time_is_not_for_ever() -> None:
    known = CompileCache()
    known.keep(b"a", CompilerAnswer(fault="schema is too complex."), seconds=-1)
    known.keep(b"b", CompilerAnswer(fault="schema is too complex."), seconds=60)
    assert known.find(b"a") is None
    assert known.find(b"b") is not None

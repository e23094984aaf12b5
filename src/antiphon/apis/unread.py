"""Fields inside of a request's objects that an API's reader has no place for. The receipt names them.

The shapes say what a reader knows. What it takes as it is, whatever its fields, has no shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from antiphon.document import Document

UNREAD = "the gateway does not know it"
LONGEST = 64  # characters of a name that are told


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """The fields that are read, each with its own shape; None: it has none."""

    fields: Mapping[str, ObjectShape | None]
    one_of: frozenset[str] = frozenset()  # an object with none of these is taken as it is
    takes_others: bool = False  # fields that are not named are read as well
    types: Mapping[str, ObjectShape] = field(default_factory=dict)  # by `type`; others are taken as they are


@dataclass(frozen=True, slots=True)
class RequestShape:
    """`at`: how a place in an array is written behind its name. `spell`: a field's name in one spelling."""

    fields: Mapping[str, ObjectShape]
    at: str
    spell: Callable[[str], str] = str

    def find_unread(self, document: Document) -> dict[str, str]:
        """The paths of all fields that nobody reads, with the reason. The document was read before: it is sound."""
        given = {self.spell(name): value for name, value in document.items()}
        found = (path for name, shape in self.fields.items() for path in self._walk(given.get(name), shape, name))
        return dict.fromkeys(found, UNREAD)

    def _walk(self, value: object, shape: ObjectShape, param: str) -> Iterator[str]:
        if isinstance(value, list):
            for place, item in enumerate(value):
                yield from self._walk(item, shape, param + self.at.format(place))
        if not isinstance(value, dict):
            return
        given = {self.spell(name): inner for name, inner in value.items() if inner is not None}
        if shape.types:
            of_type = shape.types.get(str(given.get("type")))
            yield from () if of_type is None else self._walk(value, of_type, param)
            return
        if shape.one_of and shape.one_of.isdisjoint(given):
            return
        for name, inner in given.items():
            if name not in shape.fields:
                yield from () if shape.takes_others else (f"{param}.{name[:LONGEST]}",)
            elif (below := shape.fields[name]) is not None:
                yield from self._walk(inner, below, f"{param}.{name}")


def shape_of(*names: str, **inner: ObjectShape) -> ObjectShape:
    return ObjectShape({**dict.fromkeys(names), **inner})

"""Which policy is in force for a turn, by route, key and dialect."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from antiphon.safety.policy import Policy

FILTERING: Final = frozenset({"skytells"})  # dialects that block though nobody asks for it
NO_WORDS: Final[Mapping[str, Hashable]] = {}

# From the route's words, the key's (None: it has none), and whether the dialect is a filtering one.
Resolve = Callable[[Any, Any, bool], Policy | None]


class Policies:
    """Routes and keys that say the same share a policy. It is resolved for the first turn that it holds for: pairs of a
    route and a key can be many."""

    def __init__(
        self,
        resolve: Resolve | None,
        routes: Mapping[str, Hashable] = NO_WORDS,
        keys: Mapping[str, Hashable] = NO_WORDS,
    ) -> None:
        """`resolve` None: nothing is judged. `routes` and `keys`: what those say of safety that say anything."""
        self._resolved = _Resolved(resolve)
        self._routes = {name: self._resolved.number(words) for name, words in routes.items()}
        self._keys: dict[str | None, int] = {name: self._resolved.number(words) for name, words in keys.items()}

    def set_key(self, key: str, words: Hashable | None) -> None:
        """What a key says of safety that is not of the settings. None: nothing."""
        if words is None:
            self._keys.pop(key, None)
        else:
            self._keys[key] = self._resolved.number(words)

    def find(self, route: str, key: str | None, dialect: str = "openai") -> Policy | None:
        """None: nothing is judged there."""
        return self._resolved[self._routes.get(route, 0), self._keys.get(key, 0), dialect in FILTERING]


class _Resolved(dict[tuple[int, int, bool], Policy | None]):
    """By the numbers of the route's and the key's words: those are costly to hash."""

    def __init__(self, resolve: Resolve | None) -> None:
        super().__init__()
        self._resolve = resolve
        self._numbers: dict[Hashable, int] = {None: 0}
        self._words: list[Hashable] = [None]

    def number(self, words: Hashable) -> int:
        number = self._numbers.setdefault(words, len(self._words))
        if number == len(self._words):
            self._words.append(words)
        return number

    def __missing__(self, named: tuple[int, int, bool]) -> Policy | None:
        route, key, filters = named
        policy = self._resolve(self._words[route], self._words[key], filters) if self._resolve else None
        self[named] = policy
        return policy

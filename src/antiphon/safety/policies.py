"""Which policy is in force for a turn: the route's over the key's over the server's (decision 20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from antiphon.safety.policy import Policy


@dataclass(frozen=True, slots=True)
class Policies:
    """Built for every route and key that has a word of its own in it. None: nothing is judged there."""

    server: Policy | None
    keys: Mapping[str, Policy | None] = field(default_factory=dict)
    routes: Mapping[tuple[str, str | None], Policy | None] = field(default_factory=dict)
    """By route and key: a route's policy stands on that of the key."""

    def find(self, route: str, key: str | None) -> Policy | None:
        for named in ((route, key), (route, None)):
            if named in self.routes:
                return self.routes[named]
        if key is not None and key in self.keys:
            return self.keys[key]
        return self.server

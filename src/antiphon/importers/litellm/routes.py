"""Groups of deployments, aliases and fallbacks -> `[[route]]` rows. A fallback is a target of lower priority."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from antiphon.importers.litellm.deployments import Deployment, weigh
from antiphon.importers.litellm.values import Notes
from antiphon.routing.patterns import STAR, ModelPatterns, is_pattern, starred

LONGEST_NAME: Final = 256
MOST_TARGETS: Final = 100


@dataclass
class Draft:
    """Settings in the making: rows as they will be written."""

    upstreams: list[dict[str, Any]] = field(default_factory=list)
    routes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # model -> targets

    def upstream(self, keys: dict[str, Any]) -> str:
        """The name of the upstream with these keys; it is added if there is none."""
        for row in self.upstreams:
            if {key: value for key, value in row.items() if key != "name"} == keys:
                return str(row["name"])
        taken = {row["name"] for row in self.upstreams}
        name, number = keys["protocol"], 1
        while name in taken:
            number += 1
            name = f"{keys['protocol']}-{number}"
        self.upstreams.append({"name": name, **keys})
        return str(name)


def add_routes(draft: Draft, deployments: list[Deployment], notes: Notes) -> None:
    groups: dict[str, list[Deployment]] = {}
    for deployment in deployments:
        groups.setdefault(deployment.group, []).append(deployment)
    for group, members in groups.items():
        targets = []
        for deployment, (weight, priority) in zip(members, weigh(members), strict=True):
            target = _target(draft, deployment, notes)
            if target is None:
                continue
            targets.append(target | ({"weight": weight} if len(members) > 1 else {}) | {"priority": priority})
        if targets and _fits(group, notes):
            draft.routes[group] = _ranked(targets)


def _target(draft: Draft, deployment: Deployment, notes: Notes) -> dict[str, Any] | None:
    group, model = deployment.group, deployment.model
    if is_pattern(model) and (group.count(STAR) != 1 or model.count(STAR) != 1):
        notes.lose(f"{deployment.params.path}: more than one '*', or one without a '*' in model_name")
        return None
    target: dict[str, Any] = {"upstream": draft.upstream(deployment.upstream)}
    if model != group:
        target["model"] = model
    return target


def _fits(name: str, notes: Notes) -> bool:
    good = len(name) <= LONGEST_NAME and name.isprintable()
    if not good:
        notes.lose(f"the model name {name[:40]!r}…: longer than {LONGEST_NAME} characters, or not printable")
    return good


def add_aliases(draft: Draft, aliases: dict[str, Any], notes: Notes) -> None:
    for alias, value in aliases.items():
        group = value.get("model") if isinstance(value, dict) else value
        targets = _find(draft, group) if isinstance(group, str) else None
        if targets is None:
            notes.lose(f"model_group_alias {alias!r}: it leads to no model of model_list")
        elif alias not in draft.routes and _fits(alias, notes):
            named = [{"model": group, **target} if "model" not in target else dict(target) for target in targets]
            draft.routes[alias] = named


def add_fallbacks(draft: Draft, fallbacks: list[Any], default: list[Any], notes: Notes) -> None:
    """By model; `default`: for every model. What LiteLLM tries one after the other has ascending priorities."""
    chains: dict[str, list[Any]] = {}
    for row in fallbacks:
        for group, chain in row.items() if isinstance(row, dict) else ():
            chains[str(group)] = chain if isinstance(chain, list) else [chain]
    own = {group: list(targets) for group, targets in draft.routes.items()}
    for group in chains:
        if group not in own and _find(draft, group) is None:
            notes.lose(f"fallbacks of {group!r}: there is no such model in model_list")
        elif group not in own:
            draft.routes[group] = own[group] = [dict(target) for target in _find(draft, group) or []]
    for group, targets in own.items():
        chain = chains.get(group, default)
        draft.routes[group] = _with_fallbacks(group, targets, chain, Draft(draft.upstreams, own), notes)


def _with_fallbacks(
    group: str, targets: list[dict[str, Any]], chain: list[Any], draft: Draft, notes: Notes
) -> list[dict[str, Any]]:
    found = [dict(target) for target in targets]
    for name in chain:
        if name == group:
            continue
        more = _find(draft, name) if isinstance(name, str) else None
        if more is None:
            notes.lose(f"the fallback {str(name)[:80]!r} of {group!r}: it is no model of model_list")
            continue
        base = max((target.get("priority", 0) for target in found), default=-1) + 1
        for target in more:
            named = target if "model" in target else {**target, "model": name}
            places = [(other["upstream"], other.get("model", group)) for other in found]
            if (named["upstream"], named["model"]) not in places and len(found) < MOST_TARGETS:
                found.append({**named, "priority": base + target.get("priority", 0)})
    return _ranked(found)


def _find(draft: Draft, model: str) -> list[dict[str, Any]] | None:
    """The targets of a model, by its name or by a wildcard that it fits. Their models are written out."""
    if model in draft.routes:
        targets = draft.routes[model]
        return [target if "model" in target or is_pattern(model) else {**target, "model": model} for target in targets]
    pattern = ModelPatterns(name for name in draft.routes if is_pattern(name)).find(model)
    if pattern is None:
        return None
    star = starred(pattern, model) or ""
    return [
        {**target, "model": str(target["model"]).replace(STAR, star, 1) if "model" in target else model}
        for target in draft.routes[pattern]
    ]


def _ranked(targets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Priorities without gaps, from 0."""
    ranks = sorted({target.get("priority", 0) for target in targets})
    rows = [{**target, "priority": ranks.index(target.get("priority", 0))} for target in targets]
    return sorted(rows, key=lambda target: target["priority"])

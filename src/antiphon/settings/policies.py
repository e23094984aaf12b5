"""The settings' words on safety as the policies that turns are judged by.

The key's words and the route's are each read over the server's. Of these and the server's own, the strictest counts,
for each category by itself; a route with `override = true` has the last word instead. Within one of them the word on a
category is stronger than the one on its side, and that than the general one, and the preset's comes last. Where nobody
has said a mode, the dialect decides: skytells filters, the others annotate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from antiphon.safety.policies import Policies
from antiphon.safety.policy import DETECTIONS, Annotations, Grade, HoldPolicy, Mode, Policy, Side
from antiphon.safety.verdict import CATEGORIES, Severity, Stage
from antiphon.settings.model import CategorySettings, PolicySettings, SafetySettings, Settings, SideSettings

ANNOTATIONS: Final = {True: Annotations.CHANGES, False: Annotations.NONE, "every": Annotations.EVERY}

Layers = tuple[PolicySettings, ...]  # strongest first
Readings = tuple[Layers, ...]  # of each the first word counts, of all the strictest; the server's own comes last
STRICTNESS: Final = {Mode.OFF: 0, Mode.ANNOTATE: 1, Mode.FILTER: 2}


@dataclass(frozen=True, slots=True)
class Preset:
    threshold: str
    mode: str = "filter"
    detections: str = "annotate"


MODERATE: Final = Preset("medium")
ANNOTATE_ONLY: Final = Preset("medium", mode="annotate")
# Skytells' templates [skytells-templates]: its threshold `safe` would flag everything, and is taken as `low`.
PRESETS: Final[Mapping[str, Preset]] = {
    "strict": Preset("low", detections="filter"),
    "enterprise": Preset("low", detections="filter"),
    "child_safe": Preset("low"),
    "moderate": MODERATE,
    "minimal": Preset("high"),
    "annotate-only": ANNOTATE_ONLY,
    "annotate_only": ANNOTATE_ONLY,  # as the others are spelled
}


def policies(settings: Settings) -> Policies:
    server = settings.safety
    lists = {row.name: Mode(row.mode or "filter") for row in server.evaluators if row.kind == "rules" and row.name}

    def of(route: PolicySettings | None, key: PolicySettings | None, filters: bool) -> Policy | None:
        return resolve(tuple(layer for layer in (route, key) if layer is not None), server, lists, filters)

    return Policies(
        of,
        {route.model: route.safety for route in settings.routes if route.safety is not None},
        {key.name: key.safety for key in settings.keys if key.safety is not None},
    )


def resolve(own: Layers, server: SafetySettings, lists: Mapping[str, Mode], filters: bool) -> Policy | None:
    """`own`: the route's words and the key's, as far as there are any. `filters`: what nobody has said a word on is
    blocked. None: safety is off there."""
    layers = (*own, server)
    is_last_word = bool(own) and own[0].override
    readings = (layers,) if is_last_word else (*((layer, server) for layer in own), (server,))
    if not server.enabled or not _is_on(readings):
        return None
    default = Mode.FILTER if filters else Mode.ANNOTATE
    return Policy(
        prompt=_side(Stage.PROMPT, readings, lists, default),
        answer=_side(Stage.ANSWER, readings, lists, default),
        annotations=ANNOTATIONS[_first(layers, lambda layer: layer.annotations, True)],
        races=_all_say(readings, lambda layer: layer.prompt.timing, "race"),
        asynchronous=_all_say(readings, lambda layer: layer.stream, "async"),
        hold=HoldPolicy(
            _first(layers, lambda layer: layer.hold.tokens, HoldPolicy().tokens),
            _first(layers, lambda layer: layer.hold.ms, HoldPolicy().ms),
            _all_say(readings, lambda layer: layer.hold.mode, "adaptive"),
        ),
        block_status=_first(layers, lambda layer: layer.block_status, 400),
        judge_tools=True in _said(readings, lambda layer: layer.judge_tools),
        max_text=min(_said(readings, lambda layer: layer.max_text), default=None),
    )


def _is_on(readings: Readings) -> bool:
    """Who says anything of safety, and not that it is off, wants it."""
    first = (next((layer for layer in layers if _speaks(layer)), None) for layers in readings)
    said = [layer.enabled is not False for layer in first if layer is not None]
    return any(said) or not said


def _speaks(layer: PolicySettings) -> bool:
    """The server is on where nothing is written: only a word on what is blocked asks for it."""
    if not isinstance(layer, SafetySettings):
        return layer != PolicySettings()
    sides = [word for side in (layer.prompt, layer.answer) for word in (side.mode, side.threshold, *side.categories)]
    return any((layer.mode, layer.preset, layer.threshold, layer.on_failure, *sides))


def _side(stage: Stage, readings: Readings, lists: Mapping[str, Mode], default: Mode) -> Side:
    return Side(
        stage,
        tuple(_grade(stage, name, readings, default) for name in CATEGORIES),
        {name: _detection(stage, name, readings) for name in DETECTIONS[stage]},
        {name: _list(stage, mode, readings) for name, mode in lists.items()},
        closed="closed" in _said(readings, lambda layer: layer.on_failure),
        refuses_long="refuse" in too_long if (too_long := _said(readings, lambda layer: layer.too_long)) else None,
    )


def _grade(stage: Stage, name: str, readings: Readings, default: Mode) -> Grade:
    spoken = [layers for layers in readings if any(_words(stage, name, layers, key) for key in ("mode", "threshold"))]
    grades = [_graded(stage, name, layers, default) for layers in spoken or readings[-1:]]
    return max(grades, key=lambda grade: (grade.blocks, grade.threshold is not None, -(grade.threshold or 0)))


def _graded(stage: Stage, name: str, layers: Layers, default: Mode) -> Grade:
    """The mode that was said holds. Where none was, a threshold asks for blocking: else it would mean nothing."""
    threshold, word = (next(iter(_words(stage, name, layers, key)), None) for key in ("threshold", "mode"))
    implied = default if threshold in (None, "off") else Mode.FILTER
    level = None if threshold == "off" else Severity[(threshold or MODERATE.threshold).upper()]
    return Grade(level, implied if word is None else Mode(word))


def _detection(stage: Stage, name: str, readings: Readings) -> Mode:
    found = [mode for layers in readings if (mode := _detected(stage, name, layers)) is not None]
    return max(found, key=STRICTNESS.__getitem__, default=Mode.ANNOTATE)


def _detected(stage: Stage, name: str, layers: Layers) -> Mode | None:
    for layer in layers:
        own = _category(_of(layer, stage), name)
        if own is not None and own.mode is not None:
            return Mode(own.mode)
        if layer.preset is not None:
            return _capped(stage, Mode(PRESETS[layer.preset].detections), layers)
    return None


def _list(stage: Stage, mode: Mode, readings: Readings) -> Mode:
    """Of lists only the server says something: a mode of a side or a policy can change that."""
    spoken = [layers for layers in readings if _words(stage, "", layers, "mode")]
    return max((_capped(stage, mode, layers) for layers in spoken or readings[-1:]), key=STRICTNESS.__getitem__)


def _capped(stage: Stage, mode: Mode, layers: Layers) -> Mode:
    """Where the side only annotates, what has no word of its own does too."""
    return Mode.ANNOTATE if _words(stage, "", layers, "mode")[:1] == ["annotate"] else mode


def _words(stage: Stage, name: str, layers: Layers, key: str) -> list[str]:
    """What was said, strongest first."""
    found = []
    for layer in layers:
        side = _of(layer, stage)
        preset = PRESETS[layer.preset] if layer.preset is not None else None
        found += [getattr(place, key, None) for place in (_category(side, name), side, layer, preset)]
    return [word for word in found if word is not None]


def _category(side: SideSettings, name: str) -> CategorySettings | None:
    return next((own for own in side.categories if own.name == name), None)


def _of(layer: PolicySettings, stage: Stage) -> SideSettings:
    return layer.prompt if stage is Stage.PROMPT else layer.answer


def _first(layers: Layers, read: Callable[[PolicySettings], Any], default: Any) -> Any:
    return next((value for layer in layers if (value := read(layer)) is not None), default)


def _said(readings: Readings, read: Callable[[PolicySettings], Any]) -> list[Any]:
    """What each of them says, as far as it says anything."""
    return [word for layers in readings if (word := _first(layers, read, None)) is not None]


def _all_say(readings: Readings, read: Callable[[PolicySettings], str | None], word: str) -> bool:
    """The less strict word holds only where nobody says another."""
    return set(_said(readings, read)) == {word}

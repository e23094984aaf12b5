"""The settings' words on safety as the policies that turns are judged by.

The route's word is stronger than the key's, and that than the server's; within one of them the word on a category is
stronger than the one on its side, and that than the general one, and the preset's comes last. Where nobody has said a
mode, the dialect decides: skytells filters, the others annotate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from antiphon.safety.policies import Policies
from antiphon.safety.policy import DETECTIONS, Annotations, Grade, Hold, Mode, Policy, Side
from antiphon.safety.verdict import CATEGORIES, Severity, Stage
from antiphon.settings.model import CategorySettings, PolicySettings, Settings, SideSettings

ANNOTATIONS: Final = {True: Annotations.CHANGES, False: Annotations.NONE, "every": Annotations.EVERY}

Layers = tuple[PolicySettings, ...]  # strongest first


@dataclass(frozen=True, slots=True)
class Preset:
    threshold: str
    mode: str = "filter"
    detections: str = "annotate"


MODERATE: Final = Preset("medium")
ANNOTATE_ONLY: Final = Preset("medium", mode="annotate")
# Skytells' templates (spec §4.1): its threshold `safe` would flag everything, and is taken as `low`.
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
        return resolve(tuple(layer for layer in (route, key, server) if layer is not None), lists, filters)

    return Policies(
        of,
        {route.model: route.safety for route in settings.routes if route.safety is not None},
        {key.name: key.safety for key in settings.keys if key.safety is not None},
    )


def resolve(layers: Layers, lists: Mapping[str, Mode], filters: bool) -> Policy | None:
    """`filters`: what nobody has said a word on is blocked. None: safety is off there."""
    if not layers[-1].enabled or not _is_on(layers):
        return None
    default = Mode.FILTER if filters else Mode.ANNOTATE
    return Policy(
        prompt=_side(Stage.PROMPT, layers, lists, default),
        answer=_side(Stage.ANSWER, layers, lists, default),
        annotations=ANNOTATIONS[_first(layers, lambda layer: layer.annotations, True)],
        races=_first(layers, lambda layer: layer.prompt.timing, "gate") == "race",
        asynchronous=_first(layers, lambda layer: layer.stream, "hold") == "async",
        hold=Hold(
            _first(layers, lambda layer: layer.hold.tokens, Hold().tokens),
            _first(layers, lambda layer: layer.hold.ms, Hold().ms),
            _first(layers, lambda layer: layer.hold.mode, "full") == "adaptive",
        ),
        block_status=_first(layers, lambda layer: layer.block_status, 400),
        max_text=_first(layers, lambda layer: layer.max_text, None),
    )


def _is_on(layers: Layers) -> bool:
    """Who says anything of safety, and not that it is off, wants it."""
    for layer in layers[:-1]:
        if layer.enabled is not None or layer != PolicySettings():
            return layer.enabled is not False
    return True


def _side(stage: Stage, layers: Layers, lists: Mapping[str, Mode], default: Mode) -> Side:
    return Side(
        stage,
        tuple(_grade(stage, name, layers, default) for name in CATEGORIES),
        {name: _detection(stage, name, layers) for name in DETECTIONS[stage]},
        {name: _capped(stage, mode, layers) for name, mode in lists.items()},
        closed=_first(layers, lambda layer: layer.on_failure, "open") == "closed",
        refuses_long={None: None, "refuse": True, "unjudged": False}[
            _first(layers, lambda layer: layer.too_long, None)
        ],
    )


def _grade(stage: Stage, name: str, layers: Layers, default: Mode) -> Grade:
    """The mode that was said holds. Where none was, a threshold asks for blocking: else it would mean nothing."""
    threshold = next(_words(stage, name, layers, "threshold"), None)
    word = next(_words(stage, name, layers, "mode"), None)
    implied = default if threshold in (None, "off") else Mode.FILTER
    level = None if threshold == "off" else Severity[(threshold or MODERATE.threshold).upper()]
    return Grade(level, implied if word is None else Mode(word))


def _detection(stage: Stage, name: str, layers: Layers) -> Mode:
    for layer in layers:
        own = _category(_of(layer, stage), name)
        if own is not None and own.mode is not None:
            return Mode(own.mode)
        if layer.preset is not None:
            return _capped(stage, Mode(PRESETS[layer.preset].detections), layers)
    return Mode.ANNOTATE


def _capped(stage: Stage, mode: Mode, layers: Layers) -> Mode:
    """Where the side only annotates, what has no word of its own does too."""
    return Mode.ANNOTATE if next(_words(stage, "", layers, "mode"), "filter") == "annotate" else mode


def _words(stage: Stage, name: str, layers: Layers, key: str) -> Iterator[str]:
    """What was said, strongest first."""
    for layer in layers:
        side = _of(layer, stage)
        preset = PRESETS[layer.preset] if layer.preset is not None else None
        for place in (_category(side, name), side, layer, preset):
            word = getattr(place, key, None)
            if word is not None:
                yield word


def _category(side: SideSettings, name: str) -> CategorySettings | None:
    return next((own for own in side.categories if own.name == name), None)


def _of(layer: PolicySettings, stage: Stage) -> SideSettings:
    return layer.prompt if stage is Stage.PROMPT else layer.answer


def _first(layers: Layers, read: Callable[[PolicySettings], Any], default: Any) -> Any:
    return next((value for layer in layers if (value := read(layer)) is not None), default)

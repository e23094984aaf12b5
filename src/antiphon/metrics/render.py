"""The numbers of all workers as text: OpenMetrics 1.0, or Prometheus's own older format.

https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from antiphon.metrics.families import FAMILIES, MOST_NAMES, OTHER, Family, start_of
from antiphon.metrics.table import MetricsTable

OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    """One more family, of what the control process knows itself."""

    name: str
    kind: str  # "counter" or "gauge"
    help: str
    values: Sequence[tuple[Labels, float]]


def render(
    table: MetricsTable,
    names: Mapping[str, Sequence[str]],
    more: Iterable[Sample],
    *,
    openmetrics: bool,
    without: Container[Family] = (),
) -> str:
    """`without`: what nobody counts here."""
    parts = [table.part(worker) for worker in range(table.workers)]
    lines: list[str] = []
    for family in FAMILIES:
        if family not in without:
            lines += _head(family.name, family.kind, family.help, openmetrics)
            lines += _family(family, parts, names)
    for sample in more:
        suffix = "_total" if sample.kind == "counter" else ""
        lines += _head(sample.name, sample.kind, sample.help, openmetrics)
        lines += [f"{sample.name}{suffix}{_labels(labels)} {_number(value)}" for labels, value in sample.values]
    if openmetrics:
        lines.append("# EOF")
    return "\n".join(lines) + "\n"


def _head(name: str, kind: str, text: str, openmetrics: bool) -> list[str]:
    """The older format names a counter with its suffix."""
    if kind == "counter" and not openmetrics:
        name += "_total"
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _family(family: Family, parts: list[memoryview[float]], names: Mapping[str, Sequence[str]]) -> Iterator[str]:
    at = start_of(family)
    if family.by == "worker":
        for worker, part in enumerate(parts):
            yield f"{family.name}{_labels((('worker', str(worker)),))} {_number(part[at])}"
        return
    domains = [values or [OTHER, *names[label]] for label, values in family.labels]
    for positions in product(*(range(len(domain)) for domain in domains)):
        step = 0
        for position, (label, values) in zip(positions, family.labels, strict=True):
            step = step * (len(values) if values else MOST_NAMES[label] + 1) + position
        labels = tuple(
            (label, domain[position])
            for (label, _), domain, position in zip(family.labels, domains, positions, strict=True)
        )
        yield from _series(family, labels, parts, at + step * family.width)


def _series(family: Family, labels: Labels, parts: list[memoryview[float]], at: int) -> Iterator[str]:
    if family.buckets:
        yield from _histogram(family, labels, parts, at)
        return
    values = [part[at] for part in parts]
    if family.by == "max":
        if any(values):  # else it never happened
            yield f"{family.name}{_labels(labels)} {_number(max(values))}"
        return
    yield f"{family.name}_total{_labels(labels)} {_number(sum(values) * family.scale)}"


def _histogram(family: Family, labels: Labels, parts: list[memoryview[float]], at: int) -> Iterator[str]:
    total = 0.0
    for step, bound in enumerate((*family.buckets, None)):
        total += sum(part[at + step] for part in parts)
        le = "+Inf" if bound is None else repr(bound)
        yield f"{family.name}_bucket{_labels((*labels, ('le', le)))} {_number(total)}"
    yield f"{family.name}_count{_labels(labels)} {_number(total)}"
    yield f"{family.name}_sum{_labels(labels)} {_number(sum(part[at + len(family.buckets) + 1] for part in parts))}"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)

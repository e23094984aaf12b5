"""Training rows of our own: hand-written sentences and templates, expanded with fixed seeds.

`build()` gives rows like those of the data folder; every sixth template of a family is kept out of training and feeds
the held-out sets of training/heldout instead, so that those sets share no template with the training rows.
Some sentences are cruel or lewd on purpose: they are what the classifier has to recognise.
"""

from __future__ import annotations

from training.rows import (
    answers,
    care,
    groups,
    injections,
    intent,
    jailbreak,
    personas,
    premises,
    prose,
    reports,
    requests,
    scary,
    technical,
)
from training.rows.grammar import Row

FAMILIES = (prose, scary, technical, answers, intent, care, groups, reports, requests, personas, premises)


def build(held_out: bool, goals: list[str], benign: list[str], documents: list[str]) -> list[Row]:
    rows = [row for family in FAMILIES for row in family.rows(held_out)]
    return rows + jailbreak.rows(held_out, goals, benign) + injections.rows(held_out, goals, documents)

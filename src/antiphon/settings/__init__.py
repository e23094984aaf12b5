"""Settings: one TOML file and the environment become one frozen `Settings`, or are refused whole.

    schema.py       which keys exist, and what each may hold (data)
    kinds.py        the kinds of plain values; places.py: addresses, URLs, files
    secret.py       `env:` and `file:` secrets
    locate.py       the line of every key
    environment.py  ANTIPHON_… variables laid over the file; names.py: which setting each one names
    walk.py         a document against the schema; relations.py: what holds between its parts
    embedded.py     the embedded model's rows and defaults; evaluators.py: those of [[safety.evaluator]]
    models.py       [[model]] rows, over the packaged table
    load.py         the whole story
Rules: every fault is found before anything is refused; a fault names its line or its variable, never a secret.
"""

from __future__ import annotations

from antiphon.settings.faults import SettingsError, SettingsFault
from antiphon.settings.load import load
from antiphon.settings.model import (
    AccountsSettings,
    Address,
    CategorySettings,
    EngineSettings,
    EvaluatorSettings,
    HoldSettings,
    KeySettings,
    ModelSettings,
    PriceSettings,
    RouteSettings,
    SafetySettings,
    ServerSettings,
    Settings,
    SideSettings,
    TargetSettings,
    TimeoutSettings,
    TlsSettings,
    UpstreamSettings,
)
from antiphon.settings.secret import Secret

__all__ = [
    "AccountsSettings",
    "Address",
    "CategorySettings",
    "EngineSettings",
    "EvaluatorSettings",
    "HoldSettings",
    "KeySettings",
    "ModelSettings",
    "PriceSettings",
    "RouteSettings",
    "SafetySettings",
    "Secret",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "SettingsFault",
    "SideSettings",
    "TargetSettings",
    "TimeoutSettings",
    "TlsSettings",
    "UpstreamSettings",
    "load",
]

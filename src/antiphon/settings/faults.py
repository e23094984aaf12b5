"""What is wrong with the settings, and where: a fault is a place (file and line, or variable) and a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Where a value stands in the document: keys, and positions in arrays. ("upstream", 1, "timeout", "idle")
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SettingsFault:
    where: str  # "antiphon.toml:12", "ANTIPHON_SERVER__LISTEN", "--listen"
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class SettingsError(Exception):
    """The settings are refused. Holds every fault, in the order of the file, then those of the environment."""

    def __init__(self, faults: Iterable[SettingsFault]) -> None:
        self.faults = tuple(faults)
        super().__init__(self.faults)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class Wrong(Exception):
    """One value is not what its key takes. The message continues a sentence that begins with the key."""


def printable(text: str, limit: int = 80) -> str:
    """What the user wrote, fit for one line of a terminal."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def quoted(text: str) -> str:
    return f"'{printable(text, 60)}'"

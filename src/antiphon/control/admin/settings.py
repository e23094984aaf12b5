"""The settings in use, without their secrets; and whether others would be taken."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from typing import Any, Final

from starlette.requests import Request

from antiphon.control.admin.endpoint import AdminEndpoint, AdminError, read_body
from antiphon.control.options import ControlOptions
from antiphon.control.state import read_state, reload_asked_now
from antiphon.settings import SettingsError
from antiphon.settings.load import LARGEST_FILE, load_text
from antiphon.settings.model import Address, Settings
from antiphon.settings.secret import Secret
from antiphon.upstreams.catalog import CATALOG

MASK: Final = "[secret]"
PATIENCE: Final = 60.0  # seconds for a reload
NAP: Final = 0.02


class SettingsEndpoints:
    def __init__(self, options: ControlOptions) -> None:
        self._options = options

    def rows(self) -> list[AdminEndpoint]:
        return [
            AdminEndpoint("GET", "/settings", "The settings in use. Secrets are masked.", self.show),
            AdminEndpoint(
                "POST",
                "/settings/validate",
                "Would this settings file be taken? The body is TOML. Nothing changes.",
                self.validate,
                text_body="application/toml",
            ),
            AdminEndpoint("POST", "/reload", "Read the settings again, in all workers or in none.", self.reload),
        ]

    async def show(self, request: Request) -> Any:
        settings = self._options.settings
        generation = read_state(self._options.room).generation
        return {"generation": generation, "path": settings.path, "settings": masked(settings)}

    async def reload(self, request: Request) -> Any:
        """As SIGHUP does it."""
        room = self._options.room
        number = reload_asked_now(read_state(room))
        os.kill(os.getppid(), signal.SIGHUP)
        async with asyncio.timeout(PATIENCE):
            while True:
                state = read_state(room)
                if state.reloads >= number:
                    break
                await asyncio.sleep(NAP)
        if state.faults:
            raise AdminError(409, "settings_refused", "; ".join(state.faults))
        return {"generation": state.generation}

    async def validate(self, request: Request) -> Any:
        """Relative paths count from the folder of the file in use, and the environment is the gateway's."""
        body = await read_body(request, LARGEST_FILE)
        return await asyncio.to_thread(check, body, self._options.settings.path)


def check(body: bytes, path: str | None) -> dict[str, Any]:
    try:
        found = load_text(body.decode("utf-8-sig"), path or "antiphon.toml", os.environ, CATALOG)
    except UnicodeDecodeError:
        return _refused([{"where": "body", "message": "is not UTF-8 text"}])
    except SettingsError as error:
        return _refused([{"where": fault.where, "message": fault.message} for fault in error.faults])
    return {"valid": True, "faults": [], "warnings": list(found.warnings)}


def _refused(faults: list[dict[str, str]]) -> dict[str, Any]:
    return {"valid": False, "faults": faults, "warnings": []}


def masked(settings: Settings) -> Any:
    document = _plain(settings)
    for name in ("path", "warnings"):
        document.pop(name)
    return document


def _plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, Address):
        return str(value)
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)

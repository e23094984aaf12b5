"""What the control process is told, and the admin's first credential."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from antiphon.accounts.places import default_url, state_folder
from antiphon.control.admin.credential import make_credential
from antiphon.control.options import ControlOptions
from antiphon.engine.options import EngineOptions
from antiphon.settings import Settings


def control_options(
    settings: Settings, room: str, engine: EngineOptions | None, *, judged: bool, environ: Mapping[str, str]
) -> ControlOptions:
    store = None if settings.accounts.store is None else settings.accounts.store.reveal()
    try:
        return ControlOptions(settings, room, engine, judged, state_folder(environ), store or default_url(environ))
    except ValueError:  # no home directory
        return ControlOptions(settings, room, engine, judged, None, store)


def first_credential(settings: Settings, environ: Mapping[str, str], say: Callable[[str], None]) -> str | None:
    """The admin's, at the first start; the banner shows it and nobody keeps it. None: there is one already."""
    if settings.server.control is None or settings.server.admin_secret is not None:
        return None
    try:
        return make_credential(state_folder(environ))
    except (OSError, ValueError) as error:
        say(f"antiphon: there is no admin credential, for it cannot be kept: {error}")
        return None

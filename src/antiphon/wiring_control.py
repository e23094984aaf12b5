"""What the control process is told, and the admin's first credential."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from antiphon.accounts.places import state_folder
from antiphon.control.admin.credential import make_credential
from antiphon.control.options import ControlOptions
from antiphon.engine.options import EngineOptions
from antiphon.settings import Settings
from antiphon.wiring_accounts import AccountsPlan


def control_options(
    settings: Settings,
    room: str,
    engine: EngineOptions | None,
    accounts: AccountsPlan | None,
    *,
    judged: bool,
    environ: Mapping[str, str],
) -> ControlOptions:
    folder = admin_folder(settings, environ)
    if accounts is None:
        return ControlOptions(settings, room, engine, judged, folder)
    return ControlOptions(settings, room, engine, judged, folder, accounts.store, accounts.journal)


def admin_folder(settings: Settings, environ: Mapping[str, str]) -> str | None:
    """Where the digest of the admin's credential is kept. None: there is no home directory."""
    try:
        return settings.accounts.state or state_folder(environ)
    except ValueError:
        return None


def first_credential(settings: Settings, environ: Mapping[str, str], say: Callable[[str], None]) -> str | None:
    """The admin's, at the first start; the banner shows it and nobody keeps it. None: there is one already."""
    if settings.server.control is None or settings.server.admin_secret is not None:
        return None
    folder = admin_folder(settings, environ)
    try:
        return None if folder is None else make_credential(folder)
    except OSError as error:
        say(f"antiphon: there is no admin credential, for it cannot be kept: {error}")
        return None

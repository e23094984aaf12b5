"""Accounts of one gateway: where their files lie, the process behind the workers, and a worker's part."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from antiphon.accounts.completions.client import CompletionClient
from antiphon.accounts.places import default_url, state_folder, state_name
from antiphon.billing.issued_keys import IssuedKeys, allowed
from antiphon.flow.ports import Account
from antiphon.log import Log, append, error_line
from antiphon.safety.policies import Policies
from antiphon.server.keys import ClientKey, KeyRing, digest
from antiphon.settings import Settings
from antiphon.settings.limits import caller_of
from antiphon.settings.model import PolicySettings


@dataclass(frozen=True, slots=True)
class AccountsPlan:
    """What the processes of a gateway are told of its accounts."""

    store: str = field(repr=False)  # its URL
    journal: str  # the folder
    keys: str  # the file with a copy of the keys
    socket: str = ""  # where the accounts process answers workers, in the room


class NoPlace(Exception):
    """There is no folder for accounts; the message says why."""


def plan_accounts(settings: Settings, environ: Mapping[str, str]) -> AccountsPlan | None:
    """Makes the folders. None: accounts are off. Raises NoPlace."""
    accounts = settings.accounts
    if accounts.enabled is False:
        return None
    try:
        store = default_url(environ) if accounts.store is None else accounts.store.reveal()
        folder = accounts.state or state_folder(environ)
        journal = os.path.join(folder, f"journal-{state_name(store)}")
        os.makedirs(journal, mode=0o700, exist_ok=True)
        if not os.access(journal, os.W_OK | os.X_OK):
            raise NoPlace(f"the folder {journal} cannot be written")
    except ValueError as error:
        raise NoPlace(str(error)) from None
    except OSError as error:
        raise NoPlace(f"the folder {error.filename} cannot be made: {error.strerror}") from None
    return AccountsPlan(store, journal, os.path.join(folder, f"keys-{state_name(store)}"))


def run_accounts_process(settings: Settings, plan: AccountsPlan, *, told: int, life: int) -> None:
    """Imported in its own process: the others do without what it needs."""
    from antiphon.accounts.process import AccountsOptions, run_accounts, serve  # noqa: PLC0415
    from antiphon.accounts.stores.contract import Retention  # noqa: PLC0415

    def log(line: str) -> None:
        append(settings.server.error_log, error_line(line))

    said: dict[str, Any] = {name: most for name, most in asdict(settings.accounts.keep).items() if most is not None}
    options = AccountsOptions(plan.store, plan.journal, plan.keys, Retention(**said), plan.socket)
    serve(run_accounts(options, log), told=told, life=life)


def completion_client(plan: AccountsPlan | None, log: Log) -> CompletionClient | None:
    return None if plan is None or not plan.socket else CompletionClient(plan.socket, log.error)


def key_ring(settings: Settings, issued: IssuedKeys | None) -> KeyRing:
    server = settings.server
    keys = [
        ClientKey(
            key.name,
            digest(key.secret.reveal().encode()),
            key.dialect,
            key.strict,
            key.receipts,
            server.max_key_requests if key.max_requests is None else key.max_requests,
            Account(key.name, key.team, allowed(key.models), caller_of(key)),
        )
        for key in settings.keys
    ]
    return KeyRing(keys, required=server.auth, issued=None if issued is None else issued.find)


def issued_keys(settings: Settings, plan: AccountsPlan | None, policies: Policies) -> IssuedKeys | None:
    if plan is None:
        return None

    def set_policy(key: str, words: Mapping[str, Any]) -> None:
        """As `[[key]] safety` would say it."""
        known = {name: words[name] for name in ("mode", "preset") if name in words}
        policies.set_key(key, PolicySettings(**known) if known else None)

    issued = IssuedKeys(plan.keys, settings.accounts.keys_max_age, settings.server.max_key_requests, set_policy)
    issued.poll()
    return issued

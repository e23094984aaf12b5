"""Names the sources of credentials that expire. Imported in the keeper's own process only."""

from __future__ import annotations

from antiphon.credentials import keeper
from antiphon.credentials.kept import file_of
from antiphon.credentials.sources import AwsProfile, CredentialSource, EntraClient, GoogleAccount
from antiphon.log import append, error_line
from antiphon.settings import Settings
from antiphon.settings.model import UpstreamSettings


def run_keeper(settings: Settings, room: str, *, told: int, life: int) -> None:
    expiring = {
        file_of(room, position): upstream for position, upstream in enumerate(settings.upstreams) if upstream.expires
    }
    sources = {file: _source(upstream) for file, upstream in expiring.items()}
    names = {file: upstream.name for file, upstream in expiring.items()}

    def log(line: str) -> None:
        append(settings.server.error_log, error_line(line))

    keeper.run(sources, names, log, told=told, life=life)


def _source(upstream: UpstreamSettings) -> CredentialSource:
    if upstream.profile is not None:
        return AwsProfile(upstream.profile)
    if upstream.service_account is not None:
        return GoogleAccount(upstream.service_account, upstream.token_url)
    assert upstream.tenant_id is not None
    assert upstream.client_id is not None
    assert upstream.client_secret is not None
    return EntraClient(upstream.tenant_id, upstream.client_id, upstream.client_secret.reveal(), upstream.token_url)

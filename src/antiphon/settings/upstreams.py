"""`[[upstream]]`: what a row of the catalog fills in, and what must hold between its keys."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import msgspec

from antiphon.document import Document
from antiphon.flow.relayed import RELAYED
from antiphon.settings.model import Settings
from antiphon.settings.validate import Faults, rows
from antiphon.upstreams.catalog import CATALOG, VendorRow, base_url

INSIDE: Final = ("scripted", "embedded")  # these live inside the gateway; every other one is somewhere
ACCOUNT_KEYS: Final = ("client_email", "private_key")
LARGEST_ACCOUNT: Final = 1024 * 1024
PLACES: Final = ("region", "project", "resource", "api_version")


class Way(NamedTuple):
    """One way to name a credential besides `credential`."""

    whose: str
    keys: tuple[str, ...]
    needs: tuple[str, ...]
    suits: Callable[[VendorRow], bool]
    has_token_url: bool = False
    package: str | None = None
    extra: str = ""


SIGNING: Final = ("access_key_id", "profile")  # with these, requests carry a signature
ENTRA_KEYS: Final = ("tenant_id", "client_id", "client_secret")
WAYS: Final = (
    Way(
        "AWS",
        ("access_key_id", "secret_access_key", "session_token"),
        ("access_key_id", "secret_access_key"),
        lambda vendor: vendor.signs is not None,
    ),
    Way("AWS", ("profile",), (), lambda vendor: vendor.signs is not None, package="botocore", extra="aws"),
    Way(
        "Vertex",
        ("service_account",),
        (),
        lambda vendor: vendor.tokens == "google",
        has_token_url=True,
        package="cryptography",
        extra="google",
    ),
    Way("Azure", ENTRA_KEYS, ENTRA_KEYS, lambda vendor: vendor.tokens == "entra", has_token_url=True),
)


def fill(document: Document) -> None:
    """Before the environment, which names rows by their names: an upstream without one is called as its vendor."""
    for _, row in rows(document, "upstream"):
        if isinstance(row.get("protocol"), str) and "name" not in row:
            row["name"] = row["protocol"]
    _lead_to_the_only_one(document)


def _lead_to_the_only_one(document: Document) -> None:
    """Without a [[route]], the only upstream answers for every model. The embedded one has a route of its own."""
    written = list(rows(document, "upstream"))
    if "route" in document or len(written) != 1:
        return
    row = written[0][1]
    if isinstance(row.get("name"), str) and isinstance(row.get("protocol"), str) and row["protocol"] != "embedded":
        document["route"] = [{"model": "*", "targets": [{"upstream": row["name"]}]}]


def complete(document: Document) -> None:
    """After the environment: the vendor's own URL, where none is written and all that it needs is."""
    for _, row in rows(document, "upstream"):
        vendor = _vendor(row)
        if vendor is None or vendor.url is None or "url" in row or _missing(row, vendor):
            continue
        row["url"] = base_url(vendor, **{place: row[place] for place in PLACES if place in row})


def check(document: Document, faults: Faults) -> None:
    for position, row in rows(document, "upstream"):
        vendor = _vendor(row)
        has_url = "url" in row or row.get("protocol") in INSIDE or (vendor is not None and vendor.url is not None)
        if not has_url and (vendor is not None or "protocol" not in row):
            faults.miss(("upstream", position, "url"))
        if vendor is not None:
            _check_places(position, row, vendor, faults)
            _check_credentials(position, row, vendor, faults)
            _check_offers(position, row, vendor, faults)
        if "speaks" in row and row.get("protocol") != "scripted":
            words = "'speaks' is for protocol = \"scripted\"; others speak as the catalog says"
            faults.add(("upstream", position, "speaks"), words)


def check_accounts(settings: Settings, faults: Faults) -> None:
    """A file that is no service account's would otherwise show only when a token is fetched."""
    for position, upstream in enumerate(settings.upstreams):
        if upstream.service_account is None:
            continue
        try:
            with open(upstream.service_account, "rb") as file:
                account: Any = msgspec.json.decode(file.read(LARGEST_ACCOUNT))
        except (OSError, ValueError):
            account = None
        if not isinstance(account, dict) or not all(isinstance(account.get(key), str) for key in ACCOUNT_KEYS):
            words = (
                "'service_account' is no key of a Google service account: JSON with 'client_email' and 'private_key'"
            )
            faults.add(("upstream", position, "service_account"), words)


def _check_places(position: int, row: Document, vendor: VendorRow, faults: Faults) -> None:
    for place in _missing(row, vendor):
        faults.miss(("upstream", position, place))
    needed = _needed(vendor)
    for place in PLACES:
        if place not in row or place in needed or (place == "region" and vendor.signs):
            continue
        faults.add(("upstream", position, place), f"'{place}' does nothing with protocol = \"{vendor.protocol}\"")


def _check_credentials(position: int, row: Document, vendor: VendorRow, faults: Faults) -> None:
    if "auth" in row and "credential" not in row:
        faults.add(("upstream", position, "auth"), "'auth' does nothing without a 'credential'")
    written = [way for way in WAYS if any(key in row for key in way.keys)]
    for way in written:
        first = next(key for key in way.keys if key in row)
        if not way.suits(vendor):
            words = f"'{first}' is for {way.whose}; protocol = \"{vendor.protocol}\" takes another credential"
            faults.add(("upstream", position, first), words)
            continue
        for key in way.needs:
            if key not in row:
                faults.miss(("upstream", position, key))
        if way.package is not None and find_spec(way.package) is None:
            words = f"'{first}' needs a package that is not installed: pip install 'antiphon[{way.extra}]'"
            faults.add(("upstream", position, first), words)
    if len(written) + ("credential" in row) > 1:
        faults.add(("upstream", position), "more than one kind of credential is written; leave all but one out")
    is_signed = any(way.suits(vendor) and vendor.signs for way in written)
    if is_signed and "region" not in row and "region" not in _missing(row, vendor):
        faults.miss(("upstream", position, "region"))
    if "token_url" in row and not any(way.has_token_url for way in written):
        words = "'token_url' does nothing without 'service_account' or 'client_secret'"
        faults.add(("upstream", position, "token_url"), words)


def _check_offers(position: int, row: Document, vendor: VendorRow, faults: Faults) -> None:
    offers = row.get("offers")
    if not isinstance(offers, list) or not offers:
        return
    if CATALOG.get(str(row.get("speaks")), vendor).is_foreign:
        faults.add(("upstream", position, "offers"), "'offers' is for upstreams that speak the OpenAI protocol")
        return
    relayed = next((name for name in offers if isinstance(name, str) and name in RELAYED), None)
    if relayed is not None and vendor.signs is not None and any(key in row for key in SIGNING):
        words = f"'offers': what is relayed cannot be signed ('{relayed}'): use a 'credential'"
        faults.add(("upstream", position, "offers"), words)


def _vendor(row: Document) -> VendorRow | None:
    protocol = row.get("protocol")
    return CATALOG.get(protocol) if isinstance(protocol, str) else None


def _needed(vendor: VendorRow) -> set[str]:
    """What the vendor's URL is made of, and what its path holds."""
    text = (vendor.url or "") + vendor.path
    found = {place for place in PLACES if "{" + place + "}" in text}
    return found | {"region"} if "{api_host}" in text else found


def _missing(row: Document, vendor: VendorRow) -> list[str]:
    """What is needed and not written. A URL of one's own holds the places of the vendor's."""
    needed = _needed(vendor) - ({"region", "project", "resource"} if "url" in row else set())
    return [place for place in PLACES if place in needed and place not in row]

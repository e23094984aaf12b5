"""Which path is what, in which dialect."""

from __future__ import annotations

import pytest

from antiphon.server.paths import GET, POST, EndpointName, PathMatch, dialect_of, find


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        (b"/v1", None),
        (b"/openai/v1", "openai"),
        (b"/crazyrouter/v1", "crazyrouter"),
        (b"/skytells/v1", "skytells"),
        (b"/maritaca/api", "maritaca"),
        (b"/maritaca/api/v1", "maritaca"),
        (b"/maritaca/v1", "maritaca"),
    ],
)
def test_every_prefix_has_every_endpoint(path: bytes, dialect: str | None) -> None:
    assert find(path + b"/chat/completions") == PathMatch(EndpointName.CHAT, dialect, methods=POST)
    assert find(path + b"/completions") == PathMatch(EndpointName.COMPLETIONS, dialect, methods=POST)
    assert find(path + b"/embeddings") == PathMatch(EndpointName.EMBEDDINGS, dialect, methods=POST)
    assert find(path + b"/models") == PathMatch(EndpointName.MODELS, dialect)
    assert find(path + b"/images/edits") == relayed(dialect, "images/edits", b"/images/edits", POST)
    assert find(path + b"/files") == relayed(dialect, "files", b"/files", (b"GET", b"POST"))
    assert find(path + b"/files/file-1") == relayed(dialect, "files", b"/files/file-1", (b"GET", b"DELETE"))
    assert find(path + b"/files/f/content") == relayed(dialect, "files", b"/files/f/content", GET)
    assert find(path + b"/batches/b/cancel") == relayed(dialect, "batches", b"/batches/b/cancel", POST)
    assert find(path + b"/models/gpt-4o") == PathMatch(EndpointName.MODEL, dialect, "gpt-4o")


def relayed(dialect: str | None, name: str, path: bytes, methods: tuple[bytes, ...]) -> PathMatch:
    return PathMatch(EndpointName.RELAY, dialect, methods=methods, relay=name, path=path)


@pytest.mark.parametrize(
    "path", [b"..", b".", b"..%2Fmodels", b"%2e%2e", b"a/b", b"a/../b", b"", b"a/content/", b"a?b", b"a b"]
)
def test_ids_cannot_lead_elsewhere(path: bytes) -> None:
    assert find(b"/v1/files/" + path) is None
    assert find(b"/v1/batches/" + path) is None


@pytest.mark.parametrize("raw", [b"org/a:b", b"org%2Fa%3Ab", b"org%2fa:b"])
def test_model_ids_may_hold_slashes_and_colons_raw_or_encoded(raw: bytes) -> None:
    place = find(b"/v1/models/" + raw)
    assert place is not None
    assert place.model == "org/a:b"


@pytest.mark.parametrize(
    "path", [b"/", b"", b"/v1", b"/v1/", b"/v1/chat", b"/v1/chat/completions/", b"/v1/models/", b"*"]
)
def test_anything_else_is_unknown(path: bytes) -> None:
    assert find(path) is None


def test_errors_on_unknown_paths_speak_the_dialect_of_the_prefix() -> None:
    assert dialect_of(b"/skytells/v1/nothing") == "skytells"
    assert dialect_of(b"/maritaca/nothing") == "maritaca"
    assert dialect_of(b"/skytellsx/v1") is None
    assert dialect_of(b"/nothing") is None
    assert dialect_of(b"*") is None

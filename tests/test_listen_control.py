"""The control plane's address: the default one may be another gateway's."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from antiphon.listen import open_control
from antiphon.settings import load
from antiphon.settings.model import Address, ServerSettings
from antiphon.upstreams.catalog import CATALOG


def test_a_default_that_is_in_use_is_left_alone() -> None:
    default = ServerSettings().control
    assert default is not None
    with socket.socket() as other:
        try:
            other.bind((default.host, default.port))
            other.listen()
        except OSError:  # somebody else has it, which is as good
            pass
        assert open_control(default) is None
    assert open_control(None) is None


def test_a_chosen_one_has_to_be_had() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(OSError, match="in use") as caught:
            open_control(Address("127.0.0.1", other.getsockname()[1]))
        assert caught.value.errno == errno.EADDRINUSE


def test_an_address_that_others_can_reach_is_warned_about(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text('[server]\ncontrol = "0.0.0.0:8081"\n')
    words = "the control plane on 0.0.0.0:8081 can be reached from other machines"
    assert any(words in warning for warning in load(str(path), {}, CATALOG).warnings)

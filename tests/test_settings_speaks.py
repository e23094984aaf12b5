"""`speaks`: whose protocol the scripted upstream speaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.settings import Settings, SettingsError, load
from antiphon.settings.kinds import SPOKEN
from antiphon.upstreams.scripted import LANGUAGES

ROUTE = '[[route]]\nmodel = "*"\ntargets = [{ upstream = "a" }]\n'


def read(tmp_path: Path, *lines: str, protocols: tuple[str, ...] = (*SPOKEN, "scripted")) -> Settings:
    path = tmp_path / "antiphon.toml"
    path.write_text("\n".join(["[[upstream]]", 'name = "a"', *lines, ROUTE]))
    return load(str(path), {}, protocols)


def test_the_settings_know_every_language() -> None:
    assert set(SPOKEN) == set(LANGUAGES)


def test_it_is_openai_unless_told(tmp_path: Path) -> None:
    assert read(tmp_path, 'protocol = "scripted"').upstreams[0].speaks == "openai"


@pytest.mark.parametrize("word", SPOKEN)
def test_every_language_can_be_chosen(tmp_path: Path, word: str) -> None:
    assert read(tmp_path, 'protocol = "scripted"', f'speaks = "{word}"').upstreams[0].speaks == word


def test_a_language_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"toml:4: .*must be one of openai, .*not 'antropic'.*anthropic"):
        read(tmp_path, 'protocol = "scripted"', 'speaks = "antropic"')


def test_one_that_the_gateway_does_not_speak(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="must be one of openai, not 'gemini'"):
        read(tmp_path, 'protocol = "scripted"', 'speaks = "gemini"', protocols=("openai", "scripted"))


@pytest.mark.parametrize(
    "lines", [['protocol = "openai"', 'url = "http://a"'], ['protocol = "scripted"', 'url = "http://a"']]
)
def test_it_is_for_the_scripted_upstream_alone(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(SettingsError, match=r"toml:5: .*'speaks' is for an upstream with protocol = \"scripted\""):
        read(tmp_path, *lines, 'speaks = "gemini"')

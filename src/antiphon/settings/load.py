"""From a file and an environment to `Settings`: read, lay the environment over it, check, build. Or every fault."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from antiphon.document import Document
from antiphon.settings import cross_checks, embedded, environment, evaluators, models, upstreams
from antiphon.settings.faults import SettingsError, SettingsFault, printable
from antiphon.settings.model import Settings
from antiphon.settings.schema import ROOT, SERVER
from antiphon.settings.secret import reason
from antiphon.settings.validate import Faults, Places, Validator
from antiphon.settings.value_types import Site

DEFAULT_PATH = "antiphon.toml"
LARGEST_FILE = 4 * 1024 * 1024
LONGEST_PATH = 4096  # characters (Linux: PATH_MAX)
POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def load(
    path: str | None, environ: Mapping[str, str], protocols: Collection[str], *, listen: str | None = None
) -> Settings:
    """`path` None: ./antiphon.toml if there is one. `listen`: as --listen on the command line, above all others."""
    if path is None and os.path.exists(DEFAULT_PATH):
        path = DEFAULT_PATH
    return load_text("" if path is None else _read(path), path, environ, protocols, listen=listen)


def load_text(
    text: str, path: str | None, environ: Mapping[str, str], protocols: Collection[str], *, listen: str | None = None
) -> Settings:
    """Settings of this text. `path`: of the file that it is from; faults name it, and relative paths begin there."""
    document = _decode(text, path)
    places = Places(path, text)
    faults = Faults(document, places)
    upstreams.fill(document)
    embedded.fill(document, _foresee(document, environ))
    environment.overlay(document, environ, places, faults)
    if listen is not None:
        at = ("server", "listen")
        environment.apply_override(document, at, SERVER.keys["listen"], listen, "--listen", places, faults)
    embedded.check(document, faults, places)
    site = Site(environ, os.path.dirname(path or ""), protocols, _cores())
    embedded.complete(document, site.cores)
    evaluators.complete(document, site.cores)
    upstreams.complete(document)
    settings = Validator(document, site, faults).read(ROOT, document, ())
    cross_checks.check(document, faults, places)
    upstreams.check(document, faults)
    models.check(document, faults, places)
    evaluators.check(document, faults, places)
    evaluators.check_files(document, site, faults)
    if isinstance(settings, Settings):
        cross_checks.check_keys(settings, faults)
        upstreams.check_accounts(settings, faults)
        cross_checks.check_proxies(settings, environ, faults)
        evaluators.check_proxies(settings.safety, environ, faults)
    if faults or not isinstance(settings, Settings):
        raise SettingsError(faults.ordered())
    return replace(settings, path=path, warnings=cross_checks.warn(settings))


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise SettingsError(
            [SettingsFault(printable(path, LONGEST_PATH), f"cannot be read: {reason(error)}")]
        ) from None
    if len(data) > LARGEST_FILE:
        raise SettingsError([SettingsFault(path, f"is larger than {LARGEST_FILE} bytes")])
    try:
        return data.decode("utf-8-sig")  # some editors open a file with a byte order mark
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError([SettingsFault(f"{path}:{line}", "is not UTF-8 text")]) from None


def _decode(text: str, path: str | None) -> Document:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        found = POSITION.search(message)
        line = int(found[1]) if found and found[1] else text.rstrip().count("\n") + 1
        words = POSITION.sub("", message)
        fault = SettingsFault(f"{path}:{line}", f"this is not TOML: {printable(words, 200)}")
    except RecursionError:
        fault = SettingsFault(f"{path}:1", "is nested too deeply")
    except ValueError:  # an integer of thousands of digits
        fault = SettingsFault(f"{path}:1", "holds a number that is too long")
    raise SettingsError([fault])


def _foresee(document: Document, environ: Mapping[str, str]) -> Document:
    """The document as the environment will make it: variables can name a row only once it stands there, and whether the
    embedded model's rows do depends on variables too."""
    draft: Document = _copy(document)
    places = Places(None, "")
    environment.overlay(draft, environ, places, Faults(draft, places))
    return draft


def _copy(value: Any) -> Any:
    """Of a decoded document. (`copy.deepcopy` takes longer than decoding it again.)"""
    if type(value) is dict:
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if type(value) is list else value


def _cores() -> int:
    """Those this process may use; a container often has fewer than the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

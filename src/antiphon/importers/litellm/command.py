"""`antiphon import litellm CONFIG`: writes our settings; with `--database`, brings keys and spend into our store."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from antiphon.accounts.places import MEMORY, check_url, default_url
from antiphon.accounts.stores.contract import StoreError
from antiphon.importers.litellm.config import ImportFault, read_config
from antiphon.importers.litellm.convert import Converted, convert
from antiphon.settings import SettingsError, load
from antiphon.settings.faults import Wrong
from antiphon.settings.secret import find_secret
from antiphon.upstreams.catalog import CATALOG

IMPORT: Final = "Make our settings and accounts out of another gateway's."
LITELLM: Final = (
    "Write our settings out of a LiteLLM configuration. What cannot be carried over is named, in the file and on "
    "stderr. With --database, LiteLLM's keys go on working here: it keeps the same digests of them as we do."
)
OUTPUT: Final = "the file to write (default: stdout)"
SECRETS: Final = (
    "folder for secrets that stand in the configuration, each a file that only you can read, relative to the file "
    "that is written (default: none is written, and variables are named that you must set)"
)
DATABASE: Final = "LiteLLM's PostgreSQL, read only: postgresql://USER@HOST/DATABASE, env:NAME or file:PATH"
STORE: Final = "where keys and spend go, written as [accounts] store (default: as without settings)"


def add_import(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("import", help="make settings out of another gateway's", description=IMPORT)
    sources = parser.add_subparsers(dest="source", metavar="SOURCE", title="sources", required=True)
    litellm = sources.add_parser("litellm", help="LiteLLM's config.yaml and database", description=LITELLM)
    litellm.add_argument("path", metavar="CONFIG", help="LiteLLM's config.yaml")
    litellm.add_argument("-o", "--output", metavar="FILE", help=OUTPUT)
    litellm.add_argument("--force", action="store_true", help="replace files that are there")
    litellm.add_argument("--secrets", metavar="FOLDER", help=SECRETS)
    litellm.add_argument("--database", metavar="URL", help=DATABASE)
    litellm.add_argument("--store", metavar="URL", help=STORE)


def run_import(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    try:
        if options.secrets is not None and options.output is None:
            raise ImportFault("--secrets needs -o: the settings name their files")
        store = _store(options, environ) if options.database is not None or options.store is not None else None
        made = convert(read_config(options.path), environ, options.secrets)
        if options.store is not None:
            made.accounts = {"store": options.store, **made.accounts}
        if options.database is not None and store is not None:
            asyncio.run(_bring(options, environ, store, made))
        _write(options, made)
    except (ImportFault, StoreError, OSError) as error:
        words = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
        print(f"antiphon: {words}", file=sys.stderr)
        return 1
    _report(options, made, environ)
    return 0


def _store(options: argparse.Namespace, environ: Mapping[str, str]) -> str:
    try:
        url = _find_url(options.store, environ) if options.store is not None else default_url(environ)
        check_url(url)
    except ValueError as error:
        raise ImportFault(f"--store: {error}") from None
    if options.store is not None and url == options.store and urlsplit(url).password:
        raise ImportFault(
            "--store holds a password, which would stand in the settings file: write env:NAME or file:PATH"
        )
    if url == MEMORY:
        raise ImportFault("--store memory: keeps nothing for another process")
    return url


def _find_url(text: str, environ: Mapping[str, str]) -> str:
    try:
        return find_secret(text, environ, "") or text
    except Wrong as wrong:
        raise ImportFault(f"it {wrong}") from None


async def _bring(options: argparse.Namespace, environ: Mapping[str, str], store: str, made: Converted) -> None:
    from antiphon.importers.litellm.database import bring  # noqa: PLC0415 (asyncpg: 70 ms that others do without)

    for line in await bring(_find_url(options.database, environ), store, made):
        print(f"antiphon: {line}", file=sys.stderr)


def _write(options: argparse.Namespace, made: Converted) -> None:
    if options.output is None:
        sys.stdout.write(made.text())
        return
    folder = os.path.dirname(options.output)
    for path, text in made.secrets.items():
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place) or ".", mode=0o700, exist_ok=True)
        _create(place, text, 0o600, options.force)
    _create(options.output, made.text(), 0o644, options.force)


def _create(path: str, text: str, mode: int, replace: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if replace else os.O_EXCL)
    try:
        descriptor = os.open(path, flags, mode)
    except FileExistsError:
        raise ImportFault(f"{path} is there already (--force replaces it)") from None
    with open(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, mode)
        file.write(text)


def _report(options: argparse.Namespace, made: Converted, environ: Mapping[str, str]) -> None:
    for words, lines in (("to do", made.notes.todo), ("not carried over", made.notes.lost)):
        for line in lines:
            print(f"antiphon: {words}: {line}", file=sys.stderr)
    if options.output is None:
        return
    count = f"{len(made.upstreams)} upstreams, {len(made.routes)} routes"
    try:
        load(options.output, environ, CATALOG)
        print(f"antiphon: wrote {options.output}: {count}; `antiphon check` takes it", file=sys.stderr)
    except SettingsError as error:
        print(f"antiphon: wrote {options.output}: {count}; `antiphon check` still says:\n{error}", file=sys.stderr)

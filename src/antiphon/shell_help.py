"""`antiphon completion SHELL` and `antiphon man`, made from the command line's own parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

COMPLETION: Final = (
    "Print a script that completes commands and options. bash: antiphon completion bash > "
    "~/.local/share/bash-completion/completions/antiphon. zsh: … zsh > a directory of $fpath, as _antiphon. "
    "fish: … fish > ~/.config/fish/completions/antiphon.fish"
)
MAN: Final = "Print the manual page. To read it: antiphon man | man -l -"
SHELLS: Final = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Command:
    words: tuple[str, ...]  # ("key", "create"); () is antiphon itself
    parser: argparse.ArgumentParser
    verbs: dict[str, str]  # name -> what it does

    @property
    def options(self) -> list[argparse.Action]:
        return [action for action in self.parser._actions if action.option_strings]


def add_shell_help(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    completion = commands.add_parser("completion", help="print a completion script", description=COMPLETION)
    completion.add_argument("shell", choices=SHELLS, help="for this shell")
    commands.add_parser("man", help="print the manual page", description=MAN)


def write_completion(parser: argparse.ArgumentParser, shell: str) -> str:
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return write(list(walk(parser)))


def walk(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[Command]:
    """Every command, the outer ones first."""
    found = next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)
    if found is None:
        yield Command(words, parser, {})
        return
    yield Command(words, parser, {choice.dest: choice.help or "" for choice in found._choices_actions})
    for name, inner in found.choices.items():
        yield from walk(inner, (*words, name))


def _choices(command: Command) -> list[str]:
    """What may come next: verbs, the words of an argument, options."""
    words = [str(word) for action in command.parser._actions if not action.option_strings for word in _words(action)]
    return [*command.verbs, *words, *(name for action in command.options for name in action.option_strings)]


def _words(action: argparse.Action) -> list[str]:
    if isinstance(action, argparse._SubParsersAction) or action.choices is None:
        return []
    return [str(choice) for choice in action.choices]


def _cases(commands: list[Command]) -> Iterator[str]:
    for command in commands:
        yield f'        "{" ".join(command.words)}") words="{" ".join(_choices(command))}" ;;'


def _bash(commands: list[Command]) -> str:
    verbs = "|".join(sorted(f'"{" ".join(command.words)}"' for command in commands if command.words))
    cases = "\n".join(_cases(commands))
    return f"""# bash completion for antiphon
_antiphon() {{
    local path="" words="" word current="${{COMP_WORDS[COMP_CWORD]}}"
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "${{path:+$path }}$word" in
        {verbs}) path="${{path:+$path }}$word" ;;
        esac
    done
    case "$path" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _antiphon antiphon
"""


def _zsh(commands: list[Command]) -> str:
    return "#compdef antiphon\nautoload -U +X bashcompinit && bashcompinit\n" + _bash(commands)


def _fish(commands: list[Command]) -> str:
    lines = ["# fish completion for antiphon", "complete -c antiphon -f"]
    for command in commands:
        seen = [f"__fish_seen_subcommand_from {word}" for word in command.words]
        if command.verbs:
            seen.append(f"not __fish_seen_subcommand_from {' '.join(command.verbs)}")
        when = f"-n '{'; and '.join(seen)}'" if seen else ""
        for verb, about in command.verbs.items():
            lines.append(f"complete -c antiphon {when} -a {verb} -d {_quote(about)}")
        for action in command.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in action.option_strings
            )
            takes = (
                "" if action.nargs == 0 else f" -r -a {_quote(' '.join(_words(action)))}" if _words(action) else " -rF"
            )
            lines.append(f"complete -c antiphon {when} {names}{takes} -d {_quote(_about(action))}")
        words = [word for action in command.parser._actions if not action.option_strings for word in _words(action)]
        lines += [f"complete -c antiphon {when} -a {word}" for word in words]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _about(action: argparse.Action) -> str:
    return action.help or ""


# The manual page


def write_man(parser: argparse.ArgumentParser, version: str) -> str:
    lines = [
        f'.TH ANTIPHON 1 "" "antiphon {version}" "User Commands"',
        ".SH NAME",
        "antiphon \\- a self\\-hosted Chat Completions gateway",
        ".SH SYNOPSIS",
        ".B antiphon",
        ".I COMMAND",
        "[\\fIOPTIONS\\fR]",
        ".SH DESCRIPTION",
        _roff(parser.description or ""),
    ]
    for command in walk(parser):
        lines += _man_of(command)
    lines += [".SH EXIT STATUS", "0: well; 1: it cannot be done, the settings are wrong for instance; 2: misused."]
    lines += [".SH FILES", ".TP", "\\fI./antiphon.toml\\fR", "settings, unless \\-c names others"]
    lines += [".SH ENVIRONMENT", ".TP", "\\fBANTIPHON_\\fR…", "overrides a setting: ANTIPHON_SERVER__LISTEN"]
    return "\n".join(lines) + "\n"


def _man_of(command: Command) -> list[str]:
    if command.words:
        title = "antiphon " + " ".join(command.words)
        kind = ".SH" if len(command.words) == 1 else ".SS"
        lines = [f"{kind} {_roff(title.upper() if kind == '.SH' else title)}", _roff(command.parser.description or "")]
    else:
        lines = [".SH OPTIONS"]
    for action in command.parser._actions:
        if isinstance(action, argparse._SubParsersAction) or "--help" in action.option_strings:
            continue
        names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in action.option_strings)
        value = "" if action.nargs == 0 else f"\\fI{_roff(_value(action))}\\fR"
        lines += [".TP", " ".join(filter(None, (names, value))), _roff(_about(action)) or "\\&"]
    return lines


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(_words(action)) or action.dest.upper()


def _roff(text: str) -> str:
    """A line may not begin with a control character, and a hyphen must stay one."""
    text = re.sub(r"\s+", " ", text.replace("%%", "%").replace("\\", "\\e").replace("-", "\\-"))
    return "\\&" + text if text.startswith((".", "'")) else text

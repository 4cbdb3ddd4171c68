"""What the command line takes: each command, its options and the room that runs it. Only argparse is needed."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hindsight_bank.cli import endings
from hindsight_bank.version import __version__

_TAGS_MATCH = ("any", "all", "any_strict", "all_strict", "exact")
_BUDGETS = ("low", "mid", "high")
_DEBUG = "after an error, show where it came from"


def parsed(argv: Sequence[str] | None, epilog: str = "") -> argparse.Namespace:
    """Return what the arguments say, or end the process as argparse does, with the usage."""
    parser = grammar(epilog)
    argv = sys.argv[1:] if argv is None else argv
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        early = args.command and unknown[0] in argv[: argv.index(args.command)]
        place = f": options stand after {args.command}" if early else ""
        getattr(args, "parser", parser).error(f"unrecognized arguments: {' '.join(unknown)}{place}")
    if args.command is None:
        parser.print_help(sys.stderr)
        raise SystemExit(endings.USAGE)
    if fault := _fault(args):
        args.parser.error(fault)
    return args


def grammar(epilog: str = "") -> argparse.ArgumentParser:
    """Return the whole grammar."""
    parser = argparse.ArgumentParser(
        "hindsight-bank",
        description="One memory bank of a Hindsight server, from the command line (unofficial).",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("--debug", action="store_true", help=_DEBUG)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _connecting(commands)
    _keys(commands)
    _retaining(commands)
    _asking(commands)
    _browsing(commands)
    _others(commands)
    return parser


def _command(commands: Any, room: str, name: str, told: str, *groups: str, **more: Any) -> argparse.ArgumentParser:
    """Add a command, with what several have in common."""
    command: argparse.ArgumentParser = commands.add_parser(name, help=told, description=more.pop("about", told), **more)
    command.set_defaults(room=room, parser=command)
    shared = command.add_argument_group("settings")
    if "bank" in groups:
        shared.add_argument("--server", metavar="URL", help="this server instead of the connected one, with --bank")
        shared.add_argument("--bank", metavar="ID", help="this bank, with --server")
    if "file" in groups:
        shared.add_argument("-b", "--binding", metavar="FILE", help="the binding (default: in your config folder)")
    if "call" in groups:
        shared.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="for the whole call (60, reflect 330)")
    if "json" in groups:
        shared.add_argument("--json", action="store_true", help="print JSON, for programs")
    shared.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=_DEBUG)  # or stands before
    return command


def _connecting(commands: Any) -> None:
    about = (
        "Check that URL is a Hindsight server and ID a bank of it, ask for a key if the server wants one, and keep both"
        " names in a small file (the binding) that the other commands use. The key goes to the key store of the"
        " operating system, never into the file."
    )
    connect = _command(
        commands, "connecting", "connect", "choose the server and the bank", "file", "call", "json", about=about
    )
    connect.add_argument("url", metavar="URL", help="the server, for example http://127.0.0.1:8888")
    connect.add_argument("bank_id", metavar="ID", help="the bank: a-z, 0-9, '_' and '-'")
    connect.add_argument("--new-bank", action="store_true", help="the bank may be missing: the first retain makes it")
    _command(commands, "connecting", "status", "tell what answers", "bank", "file", "call", "json")
    about = "Remove the binding. The server, the bank and a stored key stay."
    _command(commands, "connecting", "disconnect", "forget the server and the bank", "file", "json", about=about)


def _keys(commands: Any) -> None:
    about = (
        "Ask for the bank's API key (or read it from a pipe), try it on the server, and put it into the key store of"
        " the operating system. Without it, the environment variable HINDSIGHT_API_KEY holds the key."
    )
    login = _command(commands, "keys", "login", "store the API key", "bank", "file", "call", about=about)
    logout = _command(commands, "keys", "logout", "remove the stored API key", "bank", "file")
    for command in (login, logout):
        command.add_argument("url", nargs="?", metavar="URL", help="the server (default: the connected one)")
        command.add_argument("bank_id", nargs="?", metavar="ID", help="the bank")


def _retaining(commands: Any) -> None:
    about = (
        "Hand a text to the bank: TEXT, or standard input without it; or, with --file, a JSON object a line, its keys"
        " named as the options of a text in Python: content, context, timestamp, tags, metadata, document_id,"
        " strategy, update_mode. What became of each line goes to the report; a second run sends only what was not"
        " accepted. A line whose outcome is unknown may have run: it is sent again where it has a document_id and"
        " replaces, else only with --repeat-unknown."
    )
    retain = _command(
        commands, "retaining", "retain", "hand texts to the bank", "bank", "file", "call", "json", about=about
    )
    retain.add_argument("text", nargs="?", metavar="TEXT")
    retain.add_argument("--context", help="what kind of text it is")
    retain.add_argument("--timestamp", metavar="TIME", help="when it happened: ISO 8601 with offset (default: now)")
    _tags(retain, "a label to filter by later; may be repeated", match=False)
    retain.add_argument("--metadata", metavar="NAME=VALUE", action="append", help="kept with each fact; repeatable")
    retain.add_argument("--document-id", metavar="ID", help="your name for the text: it replaces the one before")
    retain.add_argument("--strategy", help="a retain strategy of the bank")
    retain.add_argument("--update-mode", choices=("replace", "append"))
    retain.add_argument("--new-bank", action="store_true", help="the bank may be missing: this makes it")
    retain.add_argument("--file", metavar="JSONL", help="retain each line of a file")
    retain.add_argument("--report", metavar="FILE", help="what became of each line (default: JSONL.report)")
    retain.add_argument("--repeat-unknown", action="store_true", help="send lines again that may have run")


def _asking(commands: Any) -> None:
    groups = ("bank", "file", "call", "json")
    recall = _command(commands, "asking", "recall", "search for facts", *groups)
    recall.add_argument("query", metavar="QUESTION")
    recall.add_argument("--type", metavar="TYPE", action="append", help="world, experience or observation; repeatable")
    recall.add_argument("--prefer-observations", action="store_true", help="leave out facts that one sums up")
    reflect = _command(commands, "asking", "reflect", "let the server's model answer from memory", *groups)
    reflect.add_argument("query", metavar="QUESTION")
    reflect.add_argument("--context", help="why it is asked")
    reflect.add_argument("--schema", metavar="FILE", help="a JSON Schema (type object) for a structured answer")
    reflect.add_argument("--based-on", action="store_true", help="show what the answer rests on")
    for command in (recall, reflect):
        command.add_argument("--max-tokens", metavar="N", type=int, help="how much text at most")
        command.add_argument("--budget", choices=_BUDGETS, help="how hard to try")
        _tags(command, "only what has this tag; repeatable")


def _browsing(commands: Any) -> None:
    groups = ("bank", "file", "call", "json")
    memories = _command(commands, "browsing", "memories", "list the memories, newest first", *groups)
    memories.add_argument("--type", metavar="TYPE", help="only world, experience or observation")
    memories.add_argument("--text", metavar="TEXT", help="only what contains this")
    _tags(memories, "only what has this tag; repeatable")
    memories.add_argument("--limit", metavar="N", type=int, help="how many (default: 20)")
    memories.add_argument("--offset", metavar="N", type=int, help="how many to skip")
    memories.add_argument("--all", action="store_true", help="every one, as they come; with --json, one a line")
    memory = _command(commands, "browsing", "memory", "show one memory", *groups)
    memory.add_argument("id", metavar="ID")
    _command(commands, "browsing", "bank", "show the bank's profile", *groups)
    about = "Browse the bank in the whole terminal: list, filter, search, read. Nothing is changed."
    _command(commands, "browsing", "pages", "browse in the whole terminal", "bank", "file", "call", about=about)


def _others(commands: Any) -> None:
    about = (
        "Retain, recall, reflect, browse and fetch in a new bank of a server, each call shown as code. A server that"
        " wants a key gets the one in HINDSIGHT_API_KEY."
    )
    usage = "%(prog)s (URL [--bank ID] | --offline) [--debug]"
    demo = _command(commands, "demo", "demo", "run the main job on a server and show it", usage=usage, about=about)
    demo.add_argument("url", nargs="?", metavar="URL", help="the server, for example http://127.0.0.1:8888")
    demo.add_argument("--bank", metavar="ID", help="use this new or empty bank (default: demo- and the time)")
    demo.add_argument("--offline", action="store_true", help="replay a recorded conversation, without a server")
    about = 'Print a completion script: eval "$(hindsight-bank completion bash)" in ~/.bashrc, or as your shell has it.'
    completion = _command(commands, "completion", "completion", "print a script for the shell", about=about)
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def _tags(command: argparse.ArgumentParser, told: str, *, match: bool = True) -> None:
    command.add_argument("--tag", metavar="TAG", action="append", help=told)
    if match:
        command.add_argument(
            "--tags-match", choices=_TAGS_MATCH, help="how tags combine; 'any' and 'all' include untagged ones"
        )


def _seconds(value: str) -> float:
    with suppress(ValueError):
        if (seconds := float(value)) > 0:
            return seconds
    raise argparse.ArgumentTypeError("a number of seconds greater than 0; inf for no limit")


# -- what argparse lets through ----------------------------------------------------------------------------------------


def _given(args: argparse.Namespace) -> set[str]:
    return {name for name, value in vars(args).items() if value not in (None, False)}


def _fault(args: argparse.Namespace) -> str | None:
    """Return what is wrong with the options together."""
    given = _given(args)
    for one, other in (("server", "bank"), ("url", "bank_id")):
        if hasattr(args, one) and hasattr(args, other) and (one in given) != (other in given):
            return f"{_shown(one)} and {_shown(other)} go together: a bank is one of a server's"
    special = {"demo": _demo_fault, "memories": _memories_fault, "retain": _retain_fault}.get(args.command)
    return special(args, given) if special else None


def _demo_fault(args: argparse.Namespace, given: set[str]) -> str | None:
    if args.offline and given & {"url", "bank"}:
        return "--offline goes with no server and no bank"
    if not args.offline and not args.url:
        return "give the URL of a Hindsight server, for example http://127.0.0.1:8888, or --offline"
    return None


def _memories_fault(args: argparse.Namespace, given: set[str]) -> str | None:
    return "--all goes without --limit and --offset" if args.all and given & {"limit", "offset"} else None


def _retain_fault(args: argparse.Namespace, given: set[str]) -> str | None:
    of_text = {"text", "context", "timestamp", "tag", "metadata", "document_id", "strategy", "update_mode"}
    if args.file is not None and (wrong := sorted(given & of_text)):
        return f"--file goes without {_shown(wrong[0])}: each line of the file has its own"
    if args.file is None and given & {"report", "repeat_unknown"}:
        return "--report and --repeat-unknown go with --file"
    names = [pair.partition("=")[0] for pair in args.metadata or () if "=" in pair]
    if len(names) < len(args.metadata or ()) or not all(names):
        return "--metadata takes NAME=VALUE"
    if len(set(names)) < len(names):
        return "--metadata takes each NAME once"
    return None


def _shown(name: str) -> str:
    return {"url": "URL", "bank_id": "ID", "text": "TEXT"}.get(name, f"--{name.replace('_', '-')}")

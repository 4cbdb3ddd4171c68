"""The commands `recall` and `reflect`."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from hindsight_bank import Bank, RecallResult, ReflectResult, SettingsError
from hindsight_bank.cli import output, views
from hindsight_bank.cli.opening import asked, chosen
from hindsight_bank.cli.screen import Screen


def recall(args: Namespace) -> None:
    """Search for facts."""

    def call(bank: Bank) -> RecallResult:
        return bank.recall(
            args.query,
            max_tokens=args.max_tokens,
            budget=args.budget,
            types=args.type,
            prefer_observations=args.prefer_observations or None,
            tags=args.tag,
            tags_match=args.tags_match,
        )

    found, _ = asked(chosen(args), "recall", call, timeout=args.timeout)
    if args.json:
        output.document(found)
        return
    screen = Screen()
    if found.results:
        views.facts(screen, found.results, ids=True)
    else:
        screen.say("Nothing was found.")


def reflect(args: Namespace) -> None:
    """Let the server's language model answer."""
    schema = _schema(args.schema)

    def call(bank: Bank) -> ReflectResult:
        return bank.reflect(
            args.query,
            context=args.context,
            budget=args.budget,
            max_tokens=args.max_tokens,
            response_schema=schema,
            tags=args.tag,
            tags_match=args.tags_match,
            include_based_on=args.based_on or None,
        )

    answer, _ = asked(chosen(args), "reflect", call, timeout=args.timeout)
    if args.json:
        output.document(answer)
        return
    screen = Screen()
    views.reflection(screen, answer)
    if answer.structured_output is not None:
        screen.verbatim(json.dumps(answer.structured_output, indent=2, ensure_ascii=False))
    elif schema is not None:
        screen.say(f"No structured answer: {answer.structured_output_error or 'the server sent none'}", "yellow")


def _schema(name: str | None) -> dict[str, Any] | None:
    """Return the JSON Schema that a file holds."""
    if name is None:
        return None
    try:
        schema = json.loads(Path(name).read_bytes())
    except (ValueError, RecursionError) as error:  # JSONDecodeError tells line and column, and quotes nothing
        raise SettingsError(f"{name} is no JSON: {error}") from None
    if not isinstance(schema, dict):
        raise SettingsError(f"{name} holds no JSON Schema of type object")
    return schema

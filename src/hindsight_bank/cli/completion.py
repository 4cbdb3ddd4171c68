"""The command `completion`: a script that a shell reads once, so that completing runs no Python."""

import sys
from argparse import Namespace

import shtab

from hindsight_bank.cli import grammar


def completion(args: Namespace) -> None:
    """Print the script."""
    sys.stdout.write(shtab.complete(grammar.grammar(), args.shell) + "\n")

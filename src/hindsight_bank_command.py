"""The program `hindsight-bank`, outside of the package: Ctrl-C ends it quietly while that loads, too."""

import sys

_INTERRUPTED = 130  # as hindsight_bank.cli documents


def main() -> int:
    """Load the command line, run it, and return its exit code."""
    try:
        from hindsight_bank.cli import main as run  # noqa: PLC0415 - as said

        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

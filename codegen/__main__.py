"""`python -m codegen`: write the generated package; --check: prove that nothing drifted; --pin: accept the schemas."""

import argparse
import difflib
import sys
from pathlib import Path

from codegen.emit import files
from codegen.judge import judge
from codegen.read import SchemaError, Sources, check_pins, pin, read
from codegen.shape import modules

ROOT = Path(__file__).parent.parent
GENERATED = Path("src/hindsight_bank/_generated")


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command on the checkout at `root` and return the exit status."""
    parser = argparse.ArgumentParser(prog="codegen", description=__doc__)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="compare with the disk, print a diff, write nothing")
    choice.add_argument("--pin", action="store_true", help="accept the schemas as they are, then generate")
    options = parser.parse_args(arguments)
    schemas = root / "schemas"
    try:
        sources = read(schemas)
        if not options.pin:
            check_pins(schemas, sources)
        texts = render(sources)
    except SchemaError as error:
        sys.stderr.write(f"codegen: {error}\n")
        return 1
    if options.pin:
        pin(schemas, sources)
    return check(texts, root / GENERATED) if options.check else write(texts, root / GENERATED)


def render(sources: Sources) -> dict[str, str]:
    """Return the text of every generated file by name."""
    for source in sources.values():
        judge(source)
    return files(modules(sources))


def check(texts: dict[str, str], folder: Path) -> int:
    """Print how the disk differs; return 1 if it does."""
    found = on_disk(folder)
    for name in sorted(found.keys() | texts.keys()):
        sys.stdout.writelines(difference(name, found.get(name), texts.get(name)))
    return int(found != texts)


def difference(name: str, found: str | None, due: str | None) -> list[str]:
    """Return a unified diff from what is there to what should be; None stands for no file."""
    before = "/dev/null" if found is None else f"{GENERATED.as_posix()}/{name}"
    after = "/dev/null" if due is None else f"{GENERATED.as_posix()}/{name} (generated)"
    lines = difflib.unified_diff(
        (found or "").splitlines(keepends=True), (due or "").splitlines(keepends=True), before, after
    )
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


def write(texts: dict[str, str], folder: Path) -> int:
    """Make the folder hold exactly these files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in on_disk(folder).keys() - texts.keys():
        (folder / name).unlink()
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return 0


def on_disk(folder: Path) -> dict[str, str]:
    """Read the files of the generated package, but not Python's caches."""
    there = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {file.relative_to(folder).as_posix(): file.read_bytes().decode(errors="replace") for file in there}


if __name__ == "__main__":
    sys.exit(main())

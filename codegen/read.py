"""Reads schemas/: every file, what it says, and whether it is the one that was pinned."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from posixpath import basename, dirname, split
from typing import Any

PINS = "PINNED.json"
KINDS = ("rules", "tools", "types")


class SchemaError(Exception):
    """A schema that nothing can be generated from; the message begins with its file and JSON pointer."""


@dataclass(frozen=True)
class At:
    """A piece of a schema file and where it stands."""

    path: str
    pointer: str
    schema: Any

    def __truediv__(self, key: str | int) -> "At":
        """Step down to a key that must be there."""
        step = str(key).replace("~", "~0").replace("/", "~1")
        if isinstance(key, str) and key not in self.schema:
            raise self.wrong(f"needs {key!r}")
        return At(self.path, f"{self.pointer}/{step}", self.schema[key])

    def each(self, keyword: str) -> dict[str, "At"]:
        """Return the named pieces under a keyword, none if it is absent."""
        return {name: self / keyword / name for name in self.schema.get(keyword, {})}

    def wrong(self, what: str) -> SchemaError:
        """Return the error that says so."""
        return SchemaError(f"{self.path}#{self.pointer}: {what}")


@dataclass(frozen=True)
class Source:
    """A file under schemas/."""

    path: str
    content: bytes

    @property
    def folders(self) -> tuple[str, str]:
        """The folder of the generation, with its final slash or empty, and that of the kind: rules, tools or types."""
        generation, kind = split(dirname(self.path))
        return (f"{generation}/" if generation else ""), kind

    @property
    def name(self) -> str:
        """The name of the generated module: the generation's package, if it has one, and the file's own name."""
        return self.folders[0].replace("/", ".") + basename(self.path).removesuffix(".json")

    @property
    def sha256(self) -> str:
        """The hash that the pin names."""
        return sha256(self.content).hexdigest()

    @property
    def root(self) -> At:
        """The whole document."""
        try:
            return At(self.path, "", json.loads(self.content))
        except ValueError as error:
            raise SchemaError(f"{self.path}#: not JSON: {error}") from error


Sources = dict[str, Source]


def read(schemas: Path) -> Sources:
    """Read all schema files, by path below `schemas`, in a fixed order."""
    files = sorted(file for kind in KINDS for file in schemas.glob(f"**/{kind}/*.json"))
    sources = [Source(file.relative_to(schemas).as_posix(), file.read_bytes()) for file in files]
    return {source.path: source for source in sources}


def check_pins(schemas: Path, sources: Sources) -> None:
    """Refuse schemas that are not, byte for byte, those that somebody pinned."""
    pinned = json.loads((schemas / PINS).read_bytes())["sha256"]
    found = hashes(sources)
    changed = sorted(path for path in pinned.keys() | found.keys() if pinned.get(path) != found.get(path))
    if changed:
        raise SchemaError(f"{PINS}#: not as pinned: {', '.join(changed)}; `python -m codegen --pin` accepts them")


def pin(schemas: Path, sources: Sources) -> None:
    """Write the hashes of the schemas as they are now; the server's version stays as it was."""
    file = schemas / PINS
    pins = json.loads(file.read_bytes()) | {"sha256": hashes(sources)}
    file.write_text(json.dumps(pins, indent=2) + "\n", encoding="utf-8")


def hashes(sources: Sources) -> dict[str, str]:
    """Return each schema's hash by path."""
    return {path: source.sha256 for path, source in sources.items()}

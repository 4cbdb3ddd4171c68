"""How a cassette is written down: as a script a person can read, of what was said and nothing besides."""

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import yaml
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.serialize import deserialize, serialize
from vcr.serializers import yamlserializer

from hindsight_bank.arguments import undescribed
from hindsight_bank.testing.scrubbers import Json, few, hide, local, places, secrets, unversioned
from hindsight_bank.toolset import KNOWN

# Longer texts, bodies above all, get lines of their own, on which nothing needs escaping ...
_LONG: Final = 80
# ... but for the line breaks that YAML would not give back as they were.
_BREAKS: Final = re.compile("[\x85\u2028\u2029\ufeff]")


class Files:
    """vcrpy's persister: UTF-8, whatever the locale."""

    @staticmethod
    def load_cassette(cassette_path: str, serializer: Json) -> Json:
        """Read a cassette."""
        try:
            text = Path(cassette_path).read_text("utf-8")
        except FileNotFoundError:
            raise CassetteNotFoundError from None
        if not text.strip():
            raise CassetteNotFoundError
        return deserialize(text, serializer)

    @staticmethod
    def save_cassette(cassette_path: str, cassette_dict: Json, serializer: Json) -> None:
        """Write a cassette."""
        path = Path(cassette_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(serialize(cassette_dict, serializer), "utf-8", newline="\n")


class Script:
    """vcrpy's serializer: all that reaches the disk goes through here."""

    deserialize = staticmethod(yamlserializer.deserialize)

    @staticmethod
    def serialize(cassette_dict: dict[str, Json]) -> str:
        """Return the text of a cassette."""
        interactions = cassette_dict["interactions"]
        names = secrets(each[side]["headers"] for each in interactions for side in ("request", "response"))
        script = cassette_dict | {"interactions": [_written(each, names) for each in interactions]}
        text = yaml.dump(
            script, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=math.inf, default_flow_style=None
        )
        return str(text)


def _written(interaction: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    """Return one request and its answer as they are written down."""
    request, response = interaction["request"], interaction["response"]
    said, answer = request["body"], response["body"]["string"]
    served = places(request["uri"])
    if served and isinstance(said, str) and isinstance(answer, str):
        if "clientInfo" in said:
            said = _line(unversioned(json.loads(said)))
        # The line ends of an event stream: within JSON's texts there are none.
        answer = answer.replace("\r\n", "\n")
        if '"method":"tools/list"' in said:
            answer = "\n".join(map(_our_tools, answer.split("\n")))
    return {
        "request": {
            "method": request["method"],
            "uri": hide(local(request["uri"]), names),
            "headers": few(request["headers"], names),
            "body": hide(said, names),
        },
        "response": {
            "status": response["status"],
            "headers": few(response["headers"], served | dict(names)),
            "body": {"string": hide(answer, served | dict(names))},
        },
    }


def _our_tools(line: str) -> str:
    """Return a line of the answer to tools/list without what this package does not read."""
    mark = "data: " if line.startswith("data: ") else ""
    try:
        message = json.loads(line.removeprefix(mark))
        message["result"]["tools"] = [
            {"name": tool["name"], "inputSchema": undescribed(tool["inputSchema"])}
            for tool in message["result"]["tools"]
            if tool["name"] in KNOWN
        ]
    except (ValueError, TypeError, KeyError):
        return line
    return mark + _line(message)


def _line(message: Json) -> str:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False)


@cache
def _dumper() -> Json:
    def text(dumper: Json, value: str) -> Json:
        style = '"' if _BREAKS.search(value) else "|" if "\n" in value or len(value) > _LONG else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    dumper: Json = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda _self, _data: True})
    dumper.add_representer(str, text)
    return dumper

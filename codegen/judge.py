"""Judges schemas before anything is made of them: valid JSON Schema, and no keyword that we would overlook."""

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError as InvalidSchema

from codegen.read import At, Source

COMMON = {"description", "properties", "required"}
SHAPE = COMMON | {"additionalProperties", "anyOf", "default", "items", "type"}
ANSWER = SHAPE | {"$defs", "$ref", "const", "format", "title"}
INPUT = SHAPE | {"enum", "minimum"}
RULE = COMMON | {"enum", "format", "minimum", "not"}
TOOL = {"name", "title", "description", "inputSchema", "outputSchema"}

NAMED = {"$defs", "properties"}
SINGLE = {"additionalProperties", "items", "not"}
LISTED = {"anyOf"}


def judge(source: Source) -> None:
    """Refuse a file that is no valid schema, or has a keyword that the generator does not know."""
    root = source.root
    if source.path.startswith("tools/"):
        _only(root, TOOL)
        _judge_schema(root / "inputSchema", INPUT)
        _judge_schema(root / "outputSchema", ANSWER)
    else:
        _judge_schema(root, RULE if source.path.startswith("rules/") else ANSWER)


def _judge_schema(at: At, known: set[str]) -> None:
    try:
        Draft202012Validator.check_schema(at.schema)
    except InvalidSchema as error:
        for step in error.absolute_path:
            at = at / step
        raise at.wrong(error.message) from error
    _judge_keywords(at, known)


def _judge_keywords(at: At, known: set[str]) -> None:
    if isinstance(at.schema, bool):
        return
    _only(at, known)
    for keyword in at.schema:
        for below in _subschemas(at / keyword, keyword):
            _judge_keywords(below, known)


def _subschemas(at: At, keyword: str) -> list[At]:
    if keyword in SINGLE:
        return [at]
    if keyword in NAMED:
        return [at / name for name in at.schema]
    if keyword in LISTED:
        return [at / index for index in range(len(at.schema))]
    return []


def _only(at: At, known: set[str]) -> None:
    for keyword in at.schema:
        if keyword not in known:
            raise (at / keyword).wrong("unknown keyword")

"""Judges schemas before anything is made of them: valid JSON Schema, and no keyword that we would overlook."""

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError as InvalidSchema

from codegen.read import At, Source

TOOL = {"name", "title", "description", "inputSchema", "outputSchema"}
RULE = {"description", "properties", "not"}
LIMIT = {"enum", "format", "minimum", "pattern"}
EXCLUSION = {"required"}
SHAPE = {"additionalProperties", "anyOf", "default", "description", "items", "properties", "required", "type"}
INPUT = SHAPE | {"enum", "minimum"}
ANSWER = SHAPE | {"$defs", "$ref", "const", "format", "title"}

NAMED = {"$defs", "properties"}
SINGLE = {"additionalProperties", "items", "not"}
LISTED = {"anyOf"}


def judge(source: Source) -> None:
    """Refuse a file that is no valid schema, or has a keyword that the generator does not know."""
    root = source.root
    kind = source.folders[1]
    if kind == "rules":
        _judge_rule(root)
    elif kind == "tools":
        _only(root, TOOL)
        _judge_schema(root / "inputSchema", INPUT)
        _judge_schema(root / "outputSchema", ANSWER)
    else:
        _judge_schema(root, ANSWER)


def _judge_rule(root: At) -> None:
    _valid(root)
    _only(root, RULE)
    for limit in root.each("properties").values():
        _only(limit, LIMIT)
    if "not" in root.schema:
        _only(root / "not", EXCLUSION)


def _judge_schema(root: At, known: set[str]) -> None:
    _valid(root)
    _judge_keywords(root, known)


def _valid(at: At) -> None:
    try:
        Draft202012Validator.check_schema(at.schema)
    except InvalidSchema as error:
        for step in error.absolute_path:
            at = at / step
        raise at.wrong(error.message) from error


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

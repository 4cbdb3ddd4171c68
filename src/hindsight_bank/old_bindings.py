"""Settings of another kind, made for coding agents: they find a bank by a folder, a launch or a header.

They are recognised, to say what they are, and never used: which bank of which server they would have meant depends on
where and by whom they were run, so any answer would be a guess about whose memories are read and written.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

CODING_AGENT_FILE: Final = "coding-agent.json"

FOLDER: Final = "a repository folder"
LAUNCH: Final = "the launch of a package"
AGENT_FILE: Final = f"the path of a {CODING_AGENT_FILE}"
DERIVED: Final = "a bank derived from a project's path"
HEADER: Final = "a multi-bank endpoint with an X-Bank-Id header"
AGENT: Final = "the settings of a coding agent's plugin"

# Keys in lower case and without separators, as `_key` spells them.
_FOLDERS: Final = frozenset(
    [
        "repo",
        "repopath",
        "repofolder",
        "reporoot",
        "repodir",
        "repository",
        "repositorypath",
        "repositoryfolder",
        "repositoryroot",
        "project",
        "projectpath",
        "projectfolder",
        "projectroot",
        "projectdir",
        "workspace",
        "workspacepath",
        "workspacefolder",
        "workspaceroot",
        "workingdirectory",
        "workdir",
        "cwd",
        "folder",
        "directory",
        "embedpackagepath",
        "optinpaths",
    ]
)
_DERIVATIONS: Final = frozenset(
    [
        "bankidtemplate",
        "dynamicbankid",
        "dynamicbankgranularity",
        "mappathtobank",
        "directorybankmap",
        "bankidprefix",
        "resolveworktrees",
    ]
)
_LAUNCHES: Final = frozenset(["command", "args", "package", "npmpackage", "packagename", "launch", "run"])
_AGENTS: Final = frozenset(
    [
        "hindsightapiurl",
        "hindsightapitoken",
        "embedversion",
        "daemonprofile",
        "daemonidletimeout",
        "apiport",
        "servermode",
        "harness",
        "harnesses",
        "autorecall",
        "autoretain",
        "retaineverynturns",
        "retainmission",
        "bankmission",
        "gitingest",
        "codebasesurvey",
    ]
)
_BANKS: Final = frozenset(["bank", "bankid", "hindsightbankid"])

_PATH: Final = re.compile(r"~?[/\\]|~$|\.{1,2}([/\\]|$)|[A-Za-z]:[/\\]|file:|\$\{?\w|%\w+%")
_HEADER: Final = re.compile(r"\bx-bank-id\b", re.IGNORECASE)
# A bank id that names a project or a pattern: `coding-agent::my-repo`, `{harness}-{gitProject}`, a path.
_PATTERN: Final = re.compile(r"::|\{\w+\}|[/\\]")


def recognised(settings: Any, file_name: str = "") -> tuple[str, ...]:
    """Return a phrase for each trait of old settings that a JSON value or its file's name has; none for anything else.

    Raises:
        RecursionError: The value is nested too deeply.
    """
    traits = set(_traits(settings, ()))
    if file_name.lower() == CODING_AGENT_FILE:
        traits.add(AGENT)
    return tuple(trait for trait in (FOLDER, LAUNCH, AGENT_FILE, DERIVED, HEADER) if trait in traits) or (
        (AGENT,) if traits else ()
    )


def _traits(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield what a value shows that stands below these keys, outermost first."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            key = _key(name)
            yield from _named(key, name, item)
            yield from _traits(item, (*keys, key))
    elif isinstance(value, list):
        for item in value:
            yield from _traits(item, keys)
    elif isinstance(value, str):
        yield from _worded(value, keys)


def _named(key: str, name: str, value: Any) -> Iterator[str]:
    """Yield what a key shows, whatever it holds."""
    if key in _DERIVATIONS and value:
        yield DERIVED
    if key in _AGENTS or key in _DERIVATIONS:
        yield AGENT
    if _HEADER.fullmatch(name):
        yield HEADER


def _worded(text: str, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield what a text shows, of which the last key says what it is for."""
    key = keys[-1] if keys else ""
    if key in _FOLDERS and _PATH.match(text):
        yield FOLDER
    if key in _LAUNCHES and any("hindsight" in word for word in (*keys, text.lower())):
        yield LAUNCH
    if re.split(r"[/\\]", text)[-1].lower() == CODING_AGENT_FILE:
        yield AGENT_FILE
    if key in _BANKS and _PATTERN.search(text):
        yield DERIVED
    if _HEADER.search(text):
        yield HEADER


def _key(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())

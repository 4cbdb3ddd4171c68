"""Settings made for coding agents: recognised, kept byte for byte, never used."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_credentials import discreet_about

from hindsight_bank import Bank, Binding, ReconnectRequired, SettingsError
from hindsight_bank.old_bindings import AGENT, AGENT_FILE, DERIVED, FOLDER, HEADER, LAUNCH, recognised

# As the coding-agents, claude-code and MCP pages of vectorize-io/hindsight show them, and as their users have them.
OLD: dict[str, tuple[Any, set[str]]] = {
    "a repository folder": ({"repository": "/srv/project", "bank": "alice"}, {FOLDER}),
    "a folder of the user's": ({"workspaceFolder": "~/project"}, {FOLDER}),
    "a folder on Windows": ({"projectPath": "C:\\Users\\me\\project"}, {FOLDER}),
    "a folder of the editor's": ({"cwd": "${workspaceFolder}"}, {FOLDER}),
    "folders let in": ({"optInOnly": True, "optInPaths": ["~/work"]}, {FOLDER}),
    "a checkout to run": ({"serverMode": "daemon", "embedPackagePath": "/src/hindsight-embed"}, {FOLDER}),
    "uvx": (
        {"mcpServers": {"hindsight": {"command": "uvx", "args": ["hindsight-api@latest", "hindsight-local-mcp"]}}},
        {LAUNCH},
    ),
    "uvx as one list": ({"mcp": {"memory": {"command": ["uvx", "--from", "hindsight-api", "x"]}}}, {LAUNCH}),
    "npx": ({"command": "npx @vectorize-io/hindsight-coding-agents install claude-code"}, {LAUNCH}),
    "a bridge": (
        {"mcpServers": {"my-hindsight": {"command": "npx", "args": ["-y", "mcp-remote", "http://h/mcp/alice/"]}}},
        {LAUNCH},
    ),
    "a hook": ({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "hindsight-claude-hook"}]}]}}, {LAUNCH}),
    "a package": ({"package": "hindsight-embed", "embedVersion": "latest"}, {LAUNCH}),
    "the path of another file": ({"config": "~/.hindsight/coding-agent.json"}, {AGENT_FILE}),
    "that path on Windows": ({"env": {"HINDSIGHT_CONFIG": "C:\\x\\coding-agent.json"}}, {AGENT_FILE}),
    "a template": ({"apiUrl": "http://localhost:8888", "bankIdTemplate": "coding-agent::{gitProject}"}, {DERIVED}),
    "a map": ({"apiUrl": "https://h", "apiToken": "s3cret", "mapPathToBank": {"/work": "general"}}, {DERIVED}),
    "a bank named after a project": ({"server_url": "https://h", "bank_id": "coding-agent::my-repo"}, {DERIVED}),
    "a bank that is a path": ({"bankId": "/srv/project"}, {DERIVED}),
    "a bank for each of many": ({"dynamicBankId": True, "dynamicBankGranularity": ["agent", "project"]}, {DERIVED}),
    "a header": (
        {"mcpServers": {"hindsight": {"url": "http://localhost:8888/mcp", "headers": {"X-Bank-Id": "my-bank"}}}},
        {HEADER},
    ),
    "a header in another case": ({"servers": [{"url": "https://h/mcp/", "headers": {"x-bank-id": "b"}}]}, {HEADER}),
    "a header as text": (
        {"servers": {"m": {"args": ["mcp-remote", "https://h/mcp/", "--header", "X-Bank-Id: b"]}}},
        {HEADER},
    ),
    "a plugin's": ({"hindsightApiUrl": "https://h", "bankId": "claude_code", "dynamicBankId": False}, {AGENT}),
    "everything": (
        {
            "repo": "./x",
            "command": "hindsight-embed",
            "configPath": "coding-agent.json",
            "directoryBankMap": {"/a": "b"},
            "headers": {"X-Bank-Id": "b"},
        },
        {FOLDER, LAUNCH, AGENT_FILE, DERIVED, HEADER},
    ),
}
old = pytest.mark.parametrize(("settings", "traits"), OLD.values(), ids=OLD)


@old
@pytest.mark.parametrize("indent", [None, 2])
def test_old_settings_are_named_for_what_they_are_and_never_used(
    settings: Any, traits: set[str], indent: int | None, tmp_path: Path
) -> None:
    """Ours: which bank they would mean depends on where they run, so any answer would be a guess."""
    path = tmp_path / "settings.json"
    content = json.dumps(settings, indent=indent).encode()
    path.write_bytes(content)
    for use in (Binding.load, Binding.remove, Bank.from_binding):
        with pytest.raises(ReconnectRequired) as caught:
            use(path)
    error = caught.value
    assert isinstance(error, SettingsError)
    assert set(error.found) == traits
    assert error.path == str(path)
    assert all(trait in str(error) for trait in traits)
    assert f"`hindsight-bank connect URL BANK --binding {path}`" in str(error)
    assert discreet_about(error, "s3cret", "localhost:8888", "my-bank")
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@old
def test_connecting_again_writes_beside_old_settings(settings: Any, traits: set[str], tmp_path: Path) -> None:
    """Ours: nothing is copied, merged or renamed; the new binding counts, the old file stays as it is."""
    path = tmp_path / "settings.json"
    content = json.dumps(settings).encode()
    path.write_bytes(content)
    assert Binding("https://h", "alice").save(path) == tmp_path / "settings.reconnected.json"
    assert Binding.load(path) == Binding("https://h", "alice")
    assert path.read_bytes() == content
    Binding.remove(path)
    with pytest.raises(ReconnectRequired) as caught:
        Binding.load(path)
    assert set(caught.value.found) == traits


@pytest.mark.parametrize("content", [b"{}", b"", b'\xef\xbb\xbf{"apiUrl": "http://localhost:8888"}', b"{ // mine\n}"])
def test_a_file_of_a_coding_agent_is_known_by_its_name(content: bytes, tmp_path: Path) -> None:
    """vectorize-io/hindsight coding-agents: ~/.hindsight/coding-agent.json, whatever is in it."""
    (tmp_path / "coding-agent.json").write_bytes(content)
    with pytest.raises(ReconnectRequired, match="the settings of a coding agent's plugin"):
        Binding.load(tmp_path / "coding-agent.json")


def test_a_repository_is_no_binding(tmp_path: Path) -> None:
    """Ours: no folder picker."""
    (tmp_path / ".git").mkdir()
    with pytest.raises(ReconnectRequired, match=r"a repository folder.*`hindsight-bank connect URL BANK`") as caught:
        Bank.from_binding(tmp_path)
    assert caught.value.found == (FOLDER,)


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "x", "version": "1.0.0", "repository": "github:me/x"},
        {"name": "x", "repository": {"type": "git", "url": "https://h/x.git", "directory": "packages/x"}},
        {"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-filesystem", "."]}}},
        {"mcpServers": {"hindsight": {"type": "http", "url": "http://localhost:8888/mcp/alice/"}}},
        {"compilerOptions": {"paths": {"@/*": ["./src/*"]}}},
        {"bank": "First National", "bankId": 7},
        [],
        "hindsight",
        None,
        5,
    ],
)
def test_what_merely_looks_like_settings_is_not_called_old(settings: Any) -> None:
    """Ours: to say what a file is, one must know it; anything else is just no binding."""
    assert recognised(settings) == ()

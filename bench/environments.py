"""A virtual environment for each client, under .bench/ of the checkout; made once, our own package anew each time."""

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_HOME: Final = ROOT / ".bench"


@dataclass(frozen=True)
class Environment:
    """Where one client is installed.

    Attributes:
        package: What pip installs: a package's name, or the checkout.
        folder: The virtual environment.
    """

    package: str
    folder: Path

    @property
    def python(self) -> str:
        """The interpreter."""
        return str(self.folder / "bin" / "python")

    def packages(self) -> Path:
        """Return the folder of what is installed."""
        return self.folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"

    def version(self, package: str) -> str:
        """Return the version of a package that is installed here."""
        found = sorted(self.packages().glob(f"{package.replace('-', '_')}-*.dist-info"))
        return found[0].name.removesuffix(".dist-info").rpartition("-")[2] if found else "?"

    def size(self) -> tuple[int, int, int]:
        """Return the number of packages, their bytes, and their bytes with bytecode; pip and its kind do not count."""
        ours = [path for path in self.packages().iterdir() if path.name.split("-")[0] not in _INSTALLERS]
        files = [file for path in ours for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
        sizes = [(file.stat().st_size, file.suffix == ".pyc") for file in files]
        plain = sum(size for size, compiled in sizes if not compiled)
        return sum(path.suffix == ".dist-info" for path in ours), plain, sum(size for size, _ in sizes)


_INSTALLERS: Final = {"pip", "setuptools", "wheel", "pkg_resources", "_distutils_hack", "distutils", "__pycache__"}
OURS: Final = Environment(str(ROOT), _HOME / "hindsight-bank")
HINDSIGHT_CLIENT: Final = Environment("hindsight-client", _HOME / "hindsight-client")
MCP: Final = Environment("mcp", _HOME / "mcp")
FASTMCP: Final = Environment("fastmcp", _HOME / "fastmcp")
# For the scenarios only, so that it counts to nobody's size.
GEVENT: Final = _HOME / "gevent"

HOMES: Final = {
    "hindsight-bank": OURS,
    "httpx": OURS,
    "http.client": OURS,
    "hindsight-client": HINDSIGHT_CLIENT,
    "mcp": MCP,
    "mcp portal": MCP,
    "fastmcp": FASTMCP,
}


def prepare() -> None:
    """Make the environments that are missing, and install the checkout as it is."""
    for environment in (OURS, HINDSIGHT_CLIENT, MCP, FASTMCP):
        if not Path(environment.python).exists():
            _run(sys.executable, "-m", "venv", str(environment.folder))
            _pip(environment, environment.package)
    _pip(OURS, "--force-reinstall", "--no-deps", OURS.package)
    _pip(OURS, OURS.package)
    if not GEVENT.exists():
        _pip(OURS, "--target", str(GEVENT), "gevent")


def variables(**more: str) -> dict[str, str]:
    """Return the environment variables of a measured process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    return kept | {"PYTHONPATH": str(ROOT)} | more


def _pip(environment: Environment, *arguments: str) -> None:
    _run(environment.python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *arguments)


def _run(*command: str) -> None:
    print(f"$ {' '.join(command)}", file=sys.stderr)
    subprocess.run(command, check=True)

"""The version, in one place: of the package's metadata and of what we call ourselves on the wire."""

__version__ = "0.1.0"

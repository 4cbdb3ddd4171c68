"""Start a real Hindsight server on loopback, for the demo, the live tests and recording: `python -m harness --help`."""

"""The benchmark: what a call costs here, on the floor and in other clients; `python -m bench`."""

"""The types of the tools of an older generation, `agents`.

Generated; do not edit. `python -m codegen` makes this file.
"""

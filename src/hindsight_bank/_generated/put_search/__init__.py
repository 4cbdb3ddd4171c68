"""The types of the tools of an older generation, `put_search`.

Generated; do not edit. `python -m codegen` makes this file.
"""

"""Strangers' text made inert: what a server, a memory or an error says may be read, but moves no cursor."""

# Not printable by `str.isprintable`, but parts of words (Persian, Indic scripts) and of emoji.
_JOINERS = "\u200c\u200d"


def inert(text: str) -> str:
    """Return `text` with whatever could steer a terminal or hide a character written out as an escape sequence."""
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def one_line(text: str) -> str:
    """Return `text` inert and on one line."""
    return inert(" ".join(text.split()))


def _shown(character: str) -> str:
    if character.isprintable() or character in _JOINERS or character == "\n":
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()

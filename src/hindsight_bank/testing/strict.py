"""A request that no cassette holds: one error, which says how to record again."""

from vcr.cassette import Cassette
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.request import Request

AGAIN = "if it is meant so, record the conversation again from a server, with record_mode='all'"
_FIRST = "there is no such cassette: record it from a server, with record_mode='once'"


class NotRecordedError(CannotOverwriteExistingCassetteException):  # type: ignore[misc]  # vcrpy has no types
    """A request was made that the cassette does not hold at this place, and nothing may be recorded."""

    def __init__(self, cassette: Cassette, request: Request) -> None:
        super().__init__(cassette=cassette, failed_request=request)
        self.args = (_told(cassette, request),)


def refuse_strangers(cassette: Cassette) -> list[Request]:
    """Have a cassette raise `NotRecordedError` for what it neither plays nor records, and return the list of that."""
    refused: list[Request] = []
    plays = cassette.can_play_response_for

    def can_play(request: Request) -> bool:
        if plays(request):
            return True
        if cassette.write_protected and cassette.filter_request(request):
            refused.append(request)
            raise NotRecordedError(cassette, request)
        return False

    cassette.can_play_response_for = can_play  # what vcrpy's stubs ask before they raise an error of vcrpy's
    return refused


def summary(request: Request) -> str:
    """Return what a request asks for, in a line."""
    headers = request.headers
    return " ".join(filter(None, (request.method, request.uri, headers.get("mcp-method"), headers.get("mcp-name"))))


def _told(cassette: Cassette, request: Request) -> str:
    where = cassette._path  # noqa: SLF001 - `path` is missing in vcrpy 9.0
    if not len(cassette):
        return f"{summary(request)} was asked of {where}\n{_FIRST}"
    similar = cassette.find_requests_with_most_matches(request)
    if not similar:
        differs = "nothing like it was recorded"
    elif not similar[0][2]:
        differs = "it was recorded less often than it is made"
    elif all(cassette.play_counts[index] for index in range(len(cassette))):
        differs = f"all {len(cassette)} recorded requests were played; this is one more"
    else:
        recorded, _, faults = similar[0]
        said = "\n".join(f"{name}: {fault}" for name, fault in faults)
        differs = f"the nearest that was recorded is {summary(recorded)}\n{said}"
    return f"{summary(request)} is not in {where}: {differs}\n{AGAIN}"

"""From settings to a verified link: the tools are looked at, then the bank, before anything else is sent."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import field, frozen

from hindsight_bank import neighbours
from hindsight_bank.backoff import Manner
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.errors import BankError, NotFoundError, StatusError
from hindsight_bank.link import Link, verified
from hindsight_bank.refusal import NO_ENDPOINT
from hindsight_bank.session import Client
from hindsight_bank.toolset import Toolset
from hindsight_bank.transport import Limits, Transport


@frozen(kw_only=True)
class Options:
    """How to connect.

    Attributes:
        key: The API key, None to send none.
        client: What we call ourselves.
        limits: Bounds of each exchange.
        ssl_context: For https; None for the default certificates.
        proxy: URL of an HTTP proxy; None for none, whatever the environment says.
        backoff: What a call does while a failed connection cools down.
        allow_new_bank: Whether a missing bank is let through, for the first retain to make it.
    """

    key: str | None = field(default=None, repr=False)
    client: Client
    limits: Limits
    ssl_context: ssl.SSLContext | None = None
    proxy: str | None = field(default=None, repr=False)
    backoff: Manner = "wait"
    allow_new_bank: bool = False

    def reach(self, url: str) -> Transport:
        """Return a transport to an endpoint."""
        return Transport(url, self.limits, ssl_context=self.ssl_context, proxy=self.proxy)


@contextmanager
def before_the_call() -> Iterator[None]:
    """Whatever goes wrong before the caller's own request is sent leaves that request unsent."""
    try:
        yield
    except BankError as error:
        error.outcome = "not_sent"
        raise


def connect(url: str, options: Options, toolset: Toolset, deadline: Deadline) -> Link:
    """Return a link to an endpoint whose server has all the tools and, unless a new one is let through, the bank."""
    with before_the_call():
        endpoint = Endpoint(options.reach(url), options.client, options.limits, options.key)
        try:
            link = _verified(endpoint, url, options, toolset, deadline)
            link.makes_bank = options.allow_new_bank
            try:
                link.check_bank(deadline)
            except NotFoundError:
                if not options.allow_new_bank:
                    raise
        except BaseException:
            endpoint.close(0)
            raise
        return link


def _verified(endpoint: Endpoint, url: str, options: Options, toolset: Toolset, deadline: Deadline) -> Link:
    """Return the link, or say what the server turns out to be where it has no endpoint of ours."""
    try:
        return verified(endpoint, toolset, deadline)
    except StatusError as error:
        if error.status not in NO_ENDPOINT:
            raise
        found = neighbours.found(url, toolset, options.reach, options.client, options.limits, deadline)
        raise found or error from None

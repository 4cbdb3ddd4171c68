"""What points at a bank: the rules for server URLs and bank ids, before any connection."""

import pickle
import re
from typing import Any

import pytest
from test_credentials import discreet_about

from hindsight_bank import Bank
from hindsight_bank.binding import Binding, _netloc, canonical_origin, check_bank_id, is_loopback
from hindsight_bank.errors import SettingsError


@pytest.mark.parametrize("bank_id", ["a", "alice", "user-1", "user_1", "0", "-", "_", "a" * 1024, "null", "mcp"])
def test_a_bank_id_is_lower_case_letters_digits_underscore_and_hyphen(bank_id: str) -> None:
    """Ours: one rule for all servers, whatever this one would allow."""
    assert check_bank_id(bank_id) == bank_id
    assert Binding("http://localhost:8888", bank_id).endpoint == f"http://localhost:8888/mcp/{bank_id}/"


@pytest.mark.parametrize(
    "bank_id",
    [
        *("", " ", "a b", " a", "a ", "a\n", "\na", "a\x00", "a\tb", "a\u2028"),
        *(".", "..", "a.b", "v1.2", "a/b", "/", "a//b", "../a", "a\\b", "a;b", "a,b"),
        *("%2e%2e", "..%2e", "%252e", "100%25", "a%2Fb", "a+b", "a?b", "a#b", "a@b", "a:b", "a::b::c", "a&b=c"),
        *("a" * 1025, "A", "Alice", "моя заметка", "é", "ａ", "ı", "ß", "١", "²", "🍵", "a\u0301"),  # noqa: RUF001
        *(None, 5, b"a", ["a"], True),
    ],
)
def test_any_other_bank_id_is_refused_with_the_rule(bank_id: Any) -> None:
    """Public reports: hindsight #1141, #1079, anthropic-sdk-java #379 (an id that moves the request)."""
    with pytest.raises(SettingsError, match=r"^a bank id is one or more of a-z, 0-9, '_' and '-', at most 1024$"):
        Binding("http://localhost", bank_id)


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://memory.example.com", "https://memory.example.com"),
        ("https://memory.example.com/", "https://memory.example.com"),
        ("HTTPS://Memory.Example.COM:443/", "https://memory.example.com"),
        ("https://memory.example.com:8443/", "https://memory.example.com:8443"),
        ("https://memory.example.com:080", "https://memory.example.com:80"),
        ("https://memory", "https://memory"),
        ("https://10.0.0.7:9", "https://10.0.0.7:9"),
        ("https://xn--e1afmkfd.example", "https://xn--e1afmkfd.example"),
        ("https://[2001:DB8:0:0::1]:8443", "https://[2001:db8::1]:8443"),
        ("https://[::1]", "https://[::1]"),
        ("http://localhost:80", "http://localhost"),
        ("http://localhost:443", "http://localhost:443"),
        ("http://LOCALHOST:8888/", "http://localhost:8888"),
        ("http://localhost.:8888", "http://localhost:8888"),
        ("http://127.0.0.1:8888", "http://127.0.0.1:8888"),
        ("http://[::1]:8888", "http://[::1]:8888"),
    ],
)
def test_a_server_url_has_one_spelling(url: str, canonical: str) -> None:
    """Public reports: opensearch-mcp-server #271, mcpo #209 (slash or no slash): one key, one entry, one endpoint."""
    assert canonical_origin(url) == canonical
    assert canonical_origin(canonical) == canonical
    assert Binding(url, "alice").endpoint == f"{canonical}/mcp/alice/"


@pytest.mark.parametrize("host", ["1::2::3", "12345::", ":", "::g", "1:2:3:4:5:6:7:8:9"])
def test_an_address_that_urlsplit_lets_through_is_still_judged(host: str) -> None:
    """CPython before 3.11.4 does not look between the brackets."""
    with pytest.raises(SettingsError, match="IPv6 address is malformed"):
        _netloc(host)


LOOPBACK = ["localhost", "LocalHost", "localhost.", "127.0.0.1", "127.0.0.2", "127.0.0.53", "127.255.255.255", "[::1]"]
NOT_LOOPBACK = [
    *("127.evil.test", "localhost.evil.test", "127.0.0.1.nip.io", "localhost.localdomain", "x.localhost"),
    *("0.0.0.0", "[::]", "2130706433", "0x7f.1", "0x7f000001", "127.1", "127.0.1", "127.0.0.01", "0177.0.0.1"),  # noqa: S104
    *("127.0.0.256", "127.0.0.1.", "128.0.0.1", "10.0.0.1", "192.168.0.1", "169.254.169.254"),
    *("[::ffff:127.0.0.1]", "[::127.0.0.1]", "[0:0:0:0:0:0:0:1]", "[0::1]", "[fe80::1]", "localhost..", "localhos"),
]


@pytest.mark.parametrize("host", LOOPBACK)
def test_plain_http_goes_to_this_machine(host: str) -> None:
    """Public reports: vendo #938, gsd-pi #1323. Ours: the exact list."""
    assert is_loopback(host.strip("[]"))
    canonical_origin(f"http://{host}:8888")


@pytest.mark.parametrize("host", NOT_LOOPBACK)
def test_plain_http_goes_nowhere_else(host: str) -> None:
    """Public reports: miro-mcp-server #96, novu #11322 (a loopback test by prefix). Ours: the exact list."""
    assert not is_loopback(host.strip("[]"))
    with pytest.raises(SettingsError):
        canonical_origin(f"http://{host}:8888")


@pytest.mark.parametrize(
    "url",
    [
        *("", "/", "//", "localhost", "localhost:8888", "memory.example.com", "//memory.example.com"),
        *(
            "ftp://localhost",
            "ws://localhost",
            "unix:///run/x",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "httpss://h",
        ),
        *("https://", "https:", "https:/h", "https:h", "https:///", "https://:8443", "https://h:", "https://[::1]:"),
        *(
            "https://h:0",
            "https://h:65536",
            "https://h:-1",
            "https://h:+1",
            "https://h:1e3",
            "https://h:x",
            "https://h:1:2",
        ),
        *("https://[::1", "https://::1", "https://[]", "https://[h]", "https://[127.0.0.1]", "https://[1::2::3]"),
        *("https://[::1]x", "https://x[::1]", "http://evil.test[::1]", "https://[v1.a]", "https://[::1%25lo]"),
        *("https://h/mcp", "https://h/hindsight/", "https://h//", "https://h/.", "https://h/%2e", "https://h/;x"),
        *(
            "https://a..b",
            "https://.h",
            "https://-h",
            "https://h-",
            "https://h..",
            "https://h,b",
            "https://h;b",
            "https://h*",
        ),
        *(
            "https://h\\@evil.test",
            "https://h\\evil",
            "https://h b",
            " https://h",
            "https://h ",
            "https://h\n",
            "h\ttps://h",
        ),
        *(
            "https://é.test",
            "https://h.test\u3002com",
            "https://ﬁ.test",
            "https://h\x00",
            "https://h\u2028",
            "https://h%00",
        ),
        *("http://%6cocalhost", "https://h%2etest"),
        *(None, 5, b"https://h", ["https://h"], True),
    ],
)
def test_what_is_no_bare_origin_is_no_server_url(url: Any) -> None:
    """Ours: http or https, host, optional port, one final slash; a path prefix is refused."""
    with pytest.raises(SettingsError) as caught:
        Bank(url, "alice")
    assert caught.value.outcome == "not_sent"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://user:pw@h", "no user name or password: pass the key as api_key"),
        ("https://h/%2e", "percent signs"),
        ("https://h\n", "plain ASCII"),
        ("https://h?x", "no query and no fragment"),
        ("https://h/#x", "no query and no fragment"),
        ("https://h/mcp/alice/", "no path: the bank's endpoint below it is added for you"),
        ("ftp://h", "begins with https://"),
        ("https://h:", "host or port is missing or malformed"),
        ("https://256.1.1.1", "host or port is missing or malformed"),
        ("https://1.2.3.04", "host or port is missing or malformed"),
        ("http://h", "plain http is for loopback only"),
        (None, "is a string such as"),
    ],
)
def test_the_sentence_names_the_rule_that_was_broken(url: Any, says: str) -> None:
    """Ours: fix the settings; what to fix is said."""
    with pytest.raises(SettingsError, match=re.escape(says)):
        canonical_origin(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:s3cret@h",
        "https://s3cret@h",
        "https://user:s3cret@h:99999",
        "http://localhost:s3cret@evil.test",
        "https://user:s3cret%40@h",
        "https://h/s3cret",
        "https://h/?api_key=s3cret",
        "https://h?s3cret",
        "https://h#s3cret",
        "https://h/#s3cret@",
        "s3cret://h",
        "http://s3cret.test",
        "https://s3cret é",
        "https://user:s3cret\\@h",
    ],
)
def test_a_refused_url_is_never_quoted(url: str) -> None:
    """Public report: httpx #568: user:password in a URL replaces the key, and is logged."""
    with pytest.raises(SettingsError) as caught:
        Bank(url, "alice", api_key="k")
    assert discreet_about(caught.value, "s3cret")


def test_settings_compare_by_their_canonical_form_and_pickle() -> None:
    """Ours: one bank, one value."""
    binding = Binding("HTTPS://H:443/", "alice")
    assert binding == Binding("https://h", "alice")
    assert pickle.loads(pickle.dumps(binding)) == binding  # noqa: S301
    with pytest.raises(AttributeError):
        binding.bank_id = "bob"  # type: ignore[misc]  # frozen

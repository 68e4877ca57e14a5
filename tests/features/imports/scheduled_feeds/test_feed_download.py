"""Feed download: conditional, bounded in size and time, whole or not at all."""

import gzip
import hashlib
import io
import time
from collections.abc import Iterator

import pytest

from productrecs.features.imports.scheduled_feeds.feed_download import (
    DownloadedFeed,
    FeedDownloader,
    FeedDownloadLimits,
    FeedRequest,
    FeedUnavailableError,
)
from tests.support.feeds import HOST, Answer, FeedHost

CSV = b"id,title\na,Tent\n"


@pytest.fixture
def host() -> Iterator[FeedHost]:
    with FeedHost() as found:
        yield found


def fetch(
    request: FeedRequest, limits: FeedDownloadLimits | None = None
) -> tuple[DownloadedFeed | None, bytes]:
    """Download; return the result, and what was written."""
    file = io.BytesIO()
    downloader = FeedDownloader({HOST}, limits=limits or FeedDownloadLimits())
    return downloader.download(request, file, lambda _: None), file.getvalue()


def refusal(request: FeedRequest, limits: FeedDownloadLimits | None = None) -> str:
    """Return why a download failed."""
    with pytest.raises(FeedUnavailableError) as caught:
        fetch(request, limits)
    return str(caught.value)


def test_a_feed_arrives_with_its_validators_and_once_only(host: FeedHost) -> None:
    url = host.put(CSV, ETag='"1"', **{"Last-Modified": "Sat, 28 Nov 2026 10:00:00 GMT"})

    found, content = fetch(FeedRequest(url))

    assert found is not None
    assert (content, found.size) == (CSV, len(CSV))
    assert found.digest == hashlib.sha256(CSV).hexdigest()
    assert found.etag == '"1"'
    again, content = fetch(FeedRequest(url, etag=found.etag, modified=found.modified))
    assert (again, content) == (None, b"")
    sent = host.requests[-1][1]
    assert sent["if-modified-since"] == "Sat, 28 Nov 2026 10:00:00 GMT"


def test_a_host_may_pack_what_it_sends(host: FeedHost) -> None:
    url = host.put(gzip.compress(CSV), **{"Content-Encoding": "gzip"})

    _, content = fetch(FeedRequest(url))

    assert gzip.decompress(content) == CSV  # reading it unpacks it
    assert host.requests[-1][1]["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=401), "password or header is missing or wrong"),
        (Answer(status=404), "no file at this address"),
        (Answer(status=500), "answered 500"),
        (Answer(CSV, length=10_000), "before the whole file had arrived"),
        (Answer(CSV, headers={"Content-Encoding": "br"}), "only gzip is supported"),
        (Answer(status=302, headers={"Location": "/feed.csv"}), "more than 3 redirects"),
        (
            Answer(status=302, headers={"Location": "http://169.254.169.254/"}),
            "169.254.169.254 is not a public address",
        ),
        (
            Answer(status=301, headers={"Location": "file:///etc/passwd"}),
            "neither http:// nor https://",
        ),
        (
            Answer(status=301, headers={"Location": "http://u:p@127.0.0.1/"}),
            "a user or a password",
        ),
    ],
)
def test_a_feed_that_does_not_arrive_whole_says_why(
    host: FeedHost, answer: Answer, words: str
) -> None:
    host.answers["/feed.csv"] = answer

    assert words in refusal(FeedRequest(host.url()))


def test_an_address_inside_the_network_is_rejected_with_the_setting(host: FeedHost) -> None:
    url = host.put(CSV)
    with pytest.raises(FeedUnavailableError, match="PRODUCTRECS_FEED_HOSTS="):
        FeedDownloader().download(FeedRequest(url), io.BytesIO(), lambda _: None)
    public_name = FeedDownloader(lookup=lambda _host, _port: ["10.0.0.7"])
    with pytest.raises(FeedUnavailableError, match="not a public address"):
        public_name.download(
            FeedRequest("https://shop.example/feed"), io.BytesIO(), lambda _: None
        )
    assert host.requests == []


def test_a_large_or_slow_feed_is_given_up(host: FeedHost) -> None:
    host.put(b"x" * 2_000_000)
    limits = FeedDownloadLimits(max_bytes=1 << 20)
    assert "larger than 1 MiB" in refusal(FeedRequest(host.url()), limits)

    host.answers["/feed.csv"] = Answer(length=10_000, is_trickled=True)
    began = time.monotonic()
    words = refusal(FeedRequest(host.url()), FeedDownloadLimits(seconds=1.0))
    assert "did not arrive within 1 seconds" in words
    assert time.monotonic() - began < 60


def test_the_secret_header_goes_to_the_host_of_the_address_only(host: FeedHost) -> None:
    with FeedHost() as other:
        other.put(CSV, "/moved.csv")
        host.put(CSV, "/here.csv")
        host.answers["/a"] = Answer(status=302, headers={"Location": "/here.csv"})
        host.answers["/b"] = Answer(
            status=302, headers={"Location": other.url("/moved.csv")}
        )
        for path in ("/a", "/b"):
            request = FeedRequest(host.url(path), "Authorization: Bearer secret")
            assert fetch(request)[1] == CSV

        seen = {path: headers.get("authorization") for path, headers in host.requests}
        assert seen == dict.fromkeys(("/a", "/here.csv", "/b"), "Bearer secret")
        assert "authorization" not in other.requests[0][1]
    assert "secret" not in repr(FeedRequest(host.url(), "Authorization: Bearer secret"))

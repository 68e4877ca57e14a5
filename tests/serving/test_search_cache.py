"""Search cache: replies used lately are ready, older ones compressed, the oldest gone."""

import pytest

from productrecs.serving.search_cache import SearchCache

STATE = (object(),)
BODY = b'{"results":[%b]}' % (b'{"title":"Oak table","price":9},' * 40)


def filled(count: int, limit: int, uncompressed: int) -> SearchCache:
    """Return a cache after `count` replies, asked for as a route does."""
    cache = SearchCache(limit, uncompressed)
    for number in range(count):
        assert cache.get(STATE, number) is None
        cache.put(STATE, number, b"%d %b" % (number, BODY))
    return cache


@pytest.mark.parametrize(
    ("limit", "uncompressed", "first_kept"),
    [
        (100_000, 100_000, 0),  # all as they are
        (100_000, 4_000, 0),  # two as they are, the others compressed
        (8_000, 4_000, 9),  # no room for all of those
        (100_000, 0, 0),  # all compressed
        (4_000, 100_000, 17),
    ],
)
def test_the_last_replies_are_found_again(
    limit: int, uncompressed: int, first_kept: int
) -> None:
    cache = filled(20, limit, uncompressed)

    found = {number: cache.get(STATE, number) for number in reversed(range(20))}

    kept = {number for number, body in found.items() if body is not None}
    assert kept == set(range(first_kept, 20))
    assert all(found[number] == b"%d %b" % (number, BODY) for number in kept)
    assert cache.size <= limit


def test_compressed_replies_take_less_memory() -> None:
    assert filled(20, 100_000, 4_000).size < 0.6 * filled(20, 100_000, 100_000).size


def test_a_reply_that_is_used_again_outlives_others() -> None:
    cache = filled(20, 8_000, 4_000)

    for number in range(20, 40):
        assert cache.get(STATE, 12) is not None
        cache.get(STATE, number)
        cache.put(STATE, number, BODY)

    assert cache.get(STATE, 13) is None
    assert cache.get(STATE, 12) == b"12 %b" % BODY


def test_another_state_empties_the_cache() -> None:
    cache, other = filled(20, 8_000, 4_000), (object(),)

    assert cache.get(other, 19) is None
    assert cache.size == 0
    cache.put(STATE, 19, BODY)
    assert cache.size == 0
    cache.put(other, 19, BODY)
    cache.put(other, 19, b"another")
    assert cache.get(other, 19) == BODY

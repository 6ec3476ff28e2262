from __future__ import annotations

from jpweb.token_bucket import TokenBucket


def test_take_tokens_admits_the_capacity_then_the_refill():
    seconds = [0.0]
    bucket = TokenBucket(2, 0.5, lambda: seconds[0])
    assert [bucket.take_tokens() for _ in range(3)] == [True, True, False]
    seconds[0] = 1.0
    assert not bucket.take_tokens(), "half a token is none"
    seconds[0] = 2.0
    assert [bucket.take_tokens(), bucket.take_tokens()] == [True, False]


def test_take_of_more_than_there_is_takes_nothing():
    seconds = [0.0]
    bucket = TokenBucket(3, 1, lambda: seconds[0])
    assert (bucket.take_tokens(4), bucket.take_tokens(3)) == (False, True)
    seconds[0] = 1000.0
    assert (bucket.take_tokens(4), bucket.take_tokens(3)) == (False, True), "it never holds more"


def test_overdraw_of_tokens_returns_the_seconds_until_none_is_owed():
    seconds = [0.0]
    bucket = TokenBucket(4, 2, lambda: seconds[0])
    assert [bucket.overdraw_tokens(cost) for cost in (4, 1, 2)] == [0.0, 0.5, 1.5]
    assert not bucket.take_tokens()
    seconds[0] = 1.0
    assert bucket.overdraw_tokens(0) == 0.5
    seconds[0] = 2.0
    assert bucket.take_tokens()

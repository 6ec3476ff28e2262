from __future__ import annotations

import pytest

from jpweb.web.security.browser_names import describe_browser

_KHTML = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (
            "Mozilla/5.0 (Windows NT 10.0; rv:128.0) Gecko/20100101 Firefox/128.0",
            "Firefox on Windows",
        ),
        (f"Mozilla/5.0 (X11; Linux x86_64) {_KHTML} Chrome/130.0 Safari/537.36", "Chrome on Linux"),
        (
            f"Mozilla/5.0 (Windows NT 10.0) {_KHTML} Chrome/130.0 Safari/537.36 Edg/130.0",
            "Edge on Windows",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 14) {_KHTML} Chrome/130.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1",
            "Safari on iPhone",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/17.5 Safari/605.1",
            "Safari on macOS",
        ),
        ("Wget/1.24 (Linux)", "Linux"),
        ("curl/8", ""),
        ("<script>\u202e", ""),
        ("", ""),
    ],
)
def test_describe_browser_is_a_known_name_or_nothing(user_agent: str, name: str):
    assert describe_browser(user_agent) == name

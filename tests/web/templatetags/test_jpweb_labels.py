from __future__ import annotations

import pytest

from jpweb.stream.inquiry import CancellationReason
from jpweb.web import display_text
from jpweb.web.templatetags import jpweb_labels


@pytest.mark.parametrize("tag", display_text.STATE_LABELS)
@pytest.mark.parametrize("reason", ["", *CancellationReason])
def test_cached_badge_equals_a_rendered_one(tag: str, reason: str):
    for _ in range(2):
        assert jpweb_labels.state_badge(tag, reason) == jpweb_labels._render_badge(tag, reason)


def test_badge_of_an_unknown_state_is_not_cached():
    before = jpweb_labels._render_known_badge.cache_info().currsize
    assert "odd &lt;one&gt;" in jpweb_labels.state_badge("odd <one>")
    assert "“a &lt;b&gt;”" in jpweb_labels.state_badge("cancelled", "a <b>")
    assert jpweb_labels._render_known_badge.cache_info().currsize == before

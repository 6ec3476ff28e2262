"""A note that is being written: ``static/js/drafts.js`` keeps it through a reload."""

from __future__ import annotations

import re

from tests.web.views.audit.reviewing.test_reviews import Desk, start
from tests.web.world import World


def test_note_of_a_review_is_a_draft_of_the_question_that_is_reviewed(world: World):
    desk, keys = Desk(world, count=2), set()
    for row in desk.rows:
        _, page = start(desk.ada, f"/questions/{row.pk}")
        keys |= {*re.findall(r'<textarea name="note"[^>]* data-draft="(review-[^"]+)"', page)}
    assert len(keys) == 2

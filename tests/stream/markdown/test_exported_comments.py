"""Comments in a Markdown export: who, when, what, and nothing hostile gets out of its place."""

from __future__ import annotations

from datetime import UTC, datetime

from jpweb.stream.markdown.exported_comments import ExportedComment, ExportedThread, write_thread

AT, LATER = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)


def test_thread_has_authors_times_texts_and_resolution():
    comments = [
        ExportedComment("Ada", AT, None, "Is it *right*?\n\n# No"),
        ExportedComment("Ben *B*", AT, LATER, "Yes"),
    ]
    assert [*write_thread(ExportedThread(comments, "Ada\n# L", LATER))] == [
        ["#### Comments"],
        ["Comment by Ada, 2026-01-02 03:04:05 UTC:", "> Is it *right*?\n>\n> # No"],
        [
            "Reply by Ben \\*B\\*, 2026-01-02 03:04:05 UTC, edited 2026-01-03 00:00:00 UTC:",
            "> Yes",
        ],
        ["Resolved by Ada \\# L, 2026-01-03 00:00:00 UTC."],
    ]


def test_open_thread_of_an_omitted_event_says_so():
    groups = list(write_thread(ExportedThread([]), is_omitted=True))
    assert groups == [["#### Comments on an omitted event"], ["Not resolved."]]

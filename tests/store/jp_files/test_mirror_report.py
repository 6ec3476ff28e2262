from __future__ import annotations

from collections import Counter

from jpweb.store.jp_files.mirror import MirrorReport


def test_the_report_is_one_line():
    report = MirrorReport(3, 1, 20, Counter(answered=2, open=1), 1, 2, 1, ["x: broken"])
    assert report.format_line() == (
        "3 conversations; 1 unchanged; 20 new events; 3 questions (2 answered, 1 open); "
        "1 unknown and 2 broken elements, shown raw; 1 deleted in jp, kept here; "
        "1 with problems"
    )
    assert MirrorReport().format_line() == "0 conversations"
    single = MirrorReport(1, event_count=1, inquiries=Counter(open=1))
    assert single.format_line() == "1 conversation; 1 new event; 1 question (1 open)"

from __future__ import annotations

from datetime import UTC, datetime

from jpweb.store.audit import AuditFilters
from jpweb.web.forms.filters.inquiry_filters import InquiryFilterForm


def test_filters_from_one_day_to_the_same_include_it():
    form = InquiryFilterForm({"since": "2026-05-31", "until": "2026-05-31"})
    assert form.is_valid()
    assert AuditFilters(**form.cleaned_data) == AuditFilters(
        since=datetime(2026, 5, 31, tzinfo=UTC), until=datetime(2026, 6, 1, tzinfo=UTC)
    )


def test_filters_to_the_last_day_have_no_end():
    form = InquiryFilterForm({"until": "9999-12-31"})
    assert form.is_valid()
    assert AuditFilters(**form.cleaned_data) == AuditFilters()


def test_filters_beside_an_invalid_one_are_kept():
    form = InquiryFilterForm({"outcome": "open", "reason": "a\0b", "since": "2026-02-30"})
    assert not form.is_valid()
    assert AuditFilters(**form.cleaned_data) == AuditFilters(outcome="open", reason="a\0b")

from __future__ import annotations

import pytest

from jpweb.web.forms.inquiry_expiry import InquiryExpiryForm


@pytest.mark.parametrize(("after", "seconds"), [("never", None), ("900", 900)])
def test_hidden_custom_time_that_is_invalid_does_not_count(after: str, seconds: int | None):
    form = InquiryExpiryForm({"after": after, "number": "soon", "unit": "week"})
    assert form.is_valid()
    assert form.cleaned_data["seconds"] == seconds


def test_custom_expiry_without_number_and_unit_has_two_errors():
    form = InquiryExpiryForm({"after": "other"})
    assert set(form.errors) == {"number", "unit"}


@pytest.mark.parametrize("number", ["0", "367"])
def test_custom_expiry_out_of_range_has_an_error_at_its_number(number: str):
    form = InquiryExpiryForm({"after": "other", "number": number, "unit": "86400"})
    assert set(form.errors) == {"number"}

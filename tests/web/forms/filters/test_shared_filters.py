"""Filters that the pages of the audit share: their tabs take them over from each other."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest
from django import forms

from jpweb.store.inquiries import Decider
from jpweb.stream.inquiry import Answered
from jpweb.web.forms.fields import WholeNumberField
from jpweb.web.forms.filters.decision_filters import DecisionFilterForm
from jpweb.web.forms.filters.inquiry_filters import InquiryFilterForm
from jpweb.web.labels import audit_labels
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World


def make_value(field: forms.Field, world: World) -> str:
    """Return a value that a field of a filter takes."""
    if isinstance(field, forms.ChoiceField):
        return next(iter(audit_labels.DECIDER_KIND_LABELS))
    if isinstance(field, forms.DateField):
        return "2026-05-31"
    return str(world.conversation.pk) if isinstance(field, WholeNumberField) else "1"


def test_tabs_keep_the_filters_that_both_pages_have(world: World):
    client, fields = world.client("auditor"), DecisionFilterForm.base_fields
    # A name and an account have other parameters: the next test.
    names = InquiryFilterForm.base_fields.keys() & fields.keys() - {"person"}
    assert names > {"tool", "words", "decided"}
    shared = {name: make_value(fields[name], world) for name in names}
    for path, other_filters, target in (
        ("/audit", {"outcome": "open", "account": "7"}, "/audit/decisions"),
        ("/audit/charts", {"outcome": "open"}, "/audit/decisions"),
        ("/audit/decisions", {"kind": "question"}, "/audit"),
        ("/audit/decisions", {"unattended": "1"}, "/audit/charts"),
    ):
        page = parse_page(client.get(path, shared | other_filters))
        tabs = [tag["href"] for tag in page if tag.inside(**{"aria-label": "Audit views"})]
        (query,) = [url.query for url in map(urlsplit, tabs) if url.path == target]
        assert dict(parse_qsl(query)) == shared, (path, target)


@pytest.mark.parametrize(
    ("path", "filters", "target", "expected"),
    [
        ("/audit", {"person": "Sam"}, "/audit/decisions", {"decider": "Sam"}),
        (
            "/audit/charts",
            {"person": "Owner", "account": "{owner}"},
            "/audit/decisions",
            {"decider": "Owner", "person": "{owner}"},
        ),
        ("/audit/decisions", {"decider": "Sam"}, "/audit", {"person": "Sam"}),
        (
            "/audit/decisions",
            {"person": "{owner}"},
            "/audit",
            {"person": "Owner", "account": "{owner}"},
        ),
        (
            "/audit/decisions",
            {"person": "987654"},
            "/audit/charts",
            {"person": "account 987654", "account": "987654"},
        ),
    ],
)
def test_tabs_take_over_the_decider(
    world: World, path: str, filters: dict[str, str], target: str, expected: dict[str, str]
):
    owner = world.people["owner"].pk
    query = {name: value.format(owner=owner) for name, value in filters.items()}
    page = parse_page(world.client("auditor").get(path, query))
    tabs = [tag["href"] for tag in page if tag.inside(**{"aria-label": "Audit views"})]
    (text,) = [url.query for url in map(urlsplit, tabs) if url.path == target]
    assert dict(parse_qsl(text)) == {
        name: value.format(owner=owner) for name, value in expected.items()
    }


def test_decisions_can_be_filtered_by_a_name_without_account(world: World):
    making.settle(world.question, Answered(True), Decider("person", "Sam"))
    client = world.client("auditor")
    page = parse_page(client.get("/audit/decisions?decider=Sam"))
    (option,) = [
        tag
        for tag in page
        if tag.tag == "option" and "selected" in tag and tag.inside(name="decider")
    ]
    assert (option["value"], option.text) == ("Sam", "Sam")
    (row,) = [tag for tag in page if "data-decision" in tag]
    assert row["id"] == f"question-{world.question.pk}"
    names = [
        tag.text for tag in parse_page(client.get("/audit/decisions")) if tag.inside(name="decider")
    ]
    assert {"Owner", "Auditor", "Sam"} <= {*names}

"""The parts of pages that ``{% cached_html %}`` keeps: each reader has their own."""

from __future__ import annotations

import re

import pytest
from django.middleware.csrf import CSRF_TOKEN_LENGTH
from django.template import Context, Template, TemplateSyntaxError
from django.test import Client
from django.utils.safestring import SafeString

from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.store.models import Membership
from jpweb.stream.events import ChatRequest, ChatResponse
from jpweb.stream.inquiry import Answered
from jpweb.web import html_cache
from jpweb.web.event_filter import FilterCounts
from jpweb.web.transcript import TranscriptQuery
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World, signed_in


def render(source: str, **values: object) -> str:
    return Template("{% load jpweb_cache %}" + source).render(Context(values))


def test_block_is_rendered_once_for_equal_values():
    source = '{% cached_html "once" value %}{{ value }} {{ other }}{% endcached_html %}'
    assert render(source, value={"a": [1]}, other="first") == "{&#x27;a&#x27;: [1]} first"
    assert render(source, value={"a": [1]}, other="second") == "{&#x27;a&#x27;: [1]} first"
    assert render(source, value={"a": [2]}, other="third") == "{&#x27;a&#x27;: [2]} third"


@pytest.mark.parametrize(("value", "similar"), [(True, 1), (1, 1.0), ("", None), (0, False)])
def test_values_that_are_equal_but_look_different_have_blocks_of_their_own(
    value: object, similar: object
):
    source = '{% cached_html "alike" value %}{{ value }}{% endcached_html %}'
    assert render(source, value=value) == str(value)
    assert render(source, value=similar) == str(similar)


def test_cached_html_block_is_shared_for_named_values():
    source = (
        '{% cached_html "named" kind key=row.pk token=token|default:"" %}{{ other }} '
        "{% url 'question' key %} {{ key }} {{ token }}{% endcached_html %}"
    )
    first = render(source, kind="a", row={"pk": 7}, token="one", other="first")
    assert first == "first /questions/7 7 one"
    second = render(source, kind="a", row={"pk": 77}, token='"><b>', other="second")
    assert second == "first /questions/77 77 &quot;&gt;&lt;b&gt;"
    assert render(source, kind="a", row={"pk": 7}, other="third") == "first /questions/7 7 "
    assert render(source, kind="b", row={"pk": 7}, other="fourth") == "fourth /questions/7 7 "


def test_value_after_a_named_one_is_refused():
    with pytest.raises(TemplateSyntaxError, match="named values are last, unlike kind"):
        render('{% cached_html "x" key=row.pk kind %}{% endcached_html %}')


def test_cards_of_one_page_have_forms_of_their_own(world: World):
    questions = [making.question(world.run) for _ in range(2)]
    page = world.client("responder").get(f"/conversations/{world.conversation.pk}").text
    tokens = set(re.findall('name="csrfmiddlewaretoken" value="([^"]*)"', page))
    assert len(tokens) == 1
    assert len(tokens.pop()) == CSRF_TOKEN_LENGTH
    for row in questions:
        for act in ("answer", "decline", "claim/choose", "snooze/choose"):
            assert f'"/questions/{row.pk}/{act}"' in page, act


def test_key_keeps_no_long_text():
    long_text = "herbs " * 100_000
    for value in (long_text, {"words": long_text}, SafeString(long_text)):
        assert len(repr(html_cache.make_hashable(value))) < 500
    assert html_cache.make_hashable(long_text) != html_cache.make_hashable(long_text + "!")
    assert html_cache.make_hashable(SafeString("<b>")) != html_cache.make_hashable("<b>")


def test_event_filter_counts_are_updated_for_the_filter(db: None):
    source = '{% include "conversations/_event_filter.html" %}'
    conversation = making.conversation(making.workspace())
    conversation.entry_count, conversation.category_counts = 2, {"message": 1, "call": 1}
    query = TranscriptQuery(show=("assistant",))
    for shown_count in (1, 2):  # jp has written it again, and the call belongs to another item
        counts = FilterCounts([], shown_count, 0)
        html = render(source, conversation=conversation, query=query, counts=counts)
        assert f"<b>{shown_count}</b></summary>" in html


def test_tabs_of_a_conversation_are_those_of_the_role(world: World):
    address = f"/conversations/{world.conversation.pk}"
    for name, sees_reviews in (("auditor", True), ("reader", False), ("owner", True)):
        tabs = world.client(name).get(address).text
        assert (f'href="{address}/reviews"' in tabs) is sees_reviews, name


def test_event_filter_counts_new_events(db: None):
    conversation = making.conversation(making.workspace())
    journal.append_events(conversation.pk, [making.event(ChatRequest("Which herbs?"))])
    client = signed_in(making.person("Ada", Role.READER, conversation.workspace))
    address = f"/conversations/{conversation.pk}"
    assert "All <b>1</b>" in client.get(address).text
    journal.append_events(conversation.pk, [making.event(ChatResponse("message", "Basil."))])
    assert "All <b>2</b>" in client.get(address).text
    assert 'aria-current="true">All' not in client.get(f"{address}?show=assistant").text


def list_options(client: Client, name: str, query: str = "") -> list[str]:
    page = parse_page(client.get(f"/audit{query}"))
    options = [tag for tag in page if tag.tag == "option" and tag.inside(name=name)]
    return [tag.get("value", tag.text) for tag in options]


def test_filter_of_the_audit_offers_the_workspaces_of_its_reader(db: None):
    keys = {}
    for person in ("Ada", "Bo"):
        workspaces = [making.workspace(name) for name in ("Garden", "Kitchen")]
        auditor = making.person(person, Role.AUDITOR, workspaces[0])
        Membership.objects.create(person=auditor, workspace=workspaces[1], role=Role.AUDITOR)
        keys[signed_in(auditor)] = sorted(str(workspace.pk) for workspace in workspaces)
    for client, expected in keys.items():
        assert sorted(filter(None, list_options(client, "workspace"))) == expected


def test_audit_filter_shows_its_choice_and_people_who_answered(db: None):
    run = making.start_run(making.conversation(making.workspace()))
    auditor = signed_in(making.person("Bo", Role.AUDITOR, run.conversation.workspace))
    row = making.question(run)
    assert list_options(auditor, "person") == [""]
    making.settle(row, Answered(True), making.decider(making.person("Thyme")))
    assert list_options(auditor, "person") == ["", "Thyme"]
    chosen = auditor.get("/audit?outcome=answered&words=herbs").text
    assert 'value="answered" title="answered" selected' in chosen
    assert 'value="herbs"' in chosen
    assert 'value="herbs"' not in auditor.get("/audit").text

"""The page of search."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import journal
from jpweb.store.models import Conversation, JournalEntry, SavedSearch
from jpweb.store.search import engine, indexer, query_parser
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ChatResponse
from jpweb.stream.inquiry import CancellationReason, Cancelled, Redacted
from jpweb.stream.transcript.categories import CATEGORIES
from jpweb.web import display_text
from tests.store import making
from tests.web.reading import Page, read
from tests.web.world import World

HOSTILE = "<script>alert(1)</script> & pear"


def say(world: World, *texts: str) -> None:
    events = [making.event(ChatResponse("message", text)) for text in texts]
    journal.append_events(world.talk.pk, events)
    up_to_date()


def up_to_date() -> None:
    while indexer.index_next() is not None:
        pass


def look(world: World, who: str = "reader", **given: Any) -> Page:
    response = world.client(who).get(f"/search?{urlencode(given)}")
    assert response.status_code == 200
    found = read(response)
    assert (found.crossed, found.unclosed) == ([], [])
    return found


def links(found: Page) -> list[str]:
    return [tag["href"] for tag in found.tags if "hit-link" in tag.get("class", "").split()]


def notices(found: Page) -> list[str]:
    return [tag.text for tag in found.tags if "notice" in tag.get("class", "").split()]


def heading(found: Page) -> str:
    return next(tag.text for tag in found.tags if tag.get("id") == "count")


def test_without_a_query_it_tells_what_can_be_typed(world: World):
    found = look(world)
    shown = [tag.text for tag in found.tags if tag.tag == "dt"]
    assert shown == [typed for typed, _ in display_text.QUERY_EXAMPLES]
    assert all(query_parser.parse_query(typed).problems == () for typed in shown)
    for tag in found.tags:
        if tag.tag == "a" and tag.inside(**{"class": "examples"}):
            assert parse_qs(urlsplit(tag["href"]).query)["q"][0] == tag.text


def test_a_hit_lands_on_its_event_with_what_to_light(world: World):
    say(world, "nothing", "A pear tree, pruned")
    found = look(world, q='"pear tree" prun* kind:assistant -apple')
    anchor = JournalEntry.objects.get(conversation=world.talk, text__contains="pruned").anchor
    (link,) = links(found)
    there = urlsplit(link)
    assert (there.path, there.fragment) == (f"/conversations/{world.talk.pk}", anchor)
    assert parse_qs(there.query) == {"at": [anchor], "q": ['"pear tree" prun*']}
    assert [tag.text for tag in found.tags if tag.tag == "mark"] == ["pear tree", "pruned"]
    assert heading(found) == "1 result"
    assert "Assistant" in found.text
    assert "Garden" in found.text


def test_a_title_leads_to_the_conversation(world: World):
    up_to_date()
    assert links(look(world, q="kind:title talk")) == [f"/conversations/{world.talk.pk}"]


def test_what_is_hostile_is_text(world: World):
    Conversation.objects.filter(pk=world.talk.pk).update(title=HOSTILE)
    say(world, HOSTILE)
    found = look(world, q=f"pear {HOSTILE}", tool='"><img>')
    assert not [tag for tag in found.tags if tag.tag == "img"]
    found = look(world, q="pear", sort="best")
    assert HOSTILE in [tag.text for tag in found.tags if tag.tag == "bdi"]
    assert [tag for tag in found.tags if tag.tag == "script" and not tag.get("src")] == []


def test_filters_stand_in_the_address_and_in_the_form(world: World):
    tool = world.question.asker
    given = {"q": "go", "kind": "question", "outcome": "open", "tool": tool, "before": "2030-01"}
    up_to_date()
    found = look(world, **given)
    assert len(links(found)) == 1
    fields = {tag["name"]: tag for tag in found.tags if tag.get("name") in given}
    assert (fields["tool"]["value"], fields["before"]["value"]) == (tool, "2030-01")
    assert fields["before"]["type"] == "text"
    chosen = [tag["value"] for tag in found.tags if tag.tag == "option" and "selected" in tag]
    assert chosen[:2] == ["question", "open"]
    (fold,) = [tag for tag in found.tags if tag.get("class") == "more-filters"]
    assert "open" in fold
    assert "open" not in next(
        tag for tag in look(world, q="go").tags if tag.get("class") == "more-filters"
    )


def test_what_cannot_be_read_is_told_and_the_rest_is_found(world: World):
    say(world, "pear")
    found = look(world, q="pear before:soon kind:novel", **{"in": "Nowhere"})
    assert len(links(found)) == 1
    told = notices(found)
    assert len(told) == 3
    assert any("before:2026-05" in text for text in told)
    assert any("Unknown kind “novel”" in text for text in told)
    assert any("not in a workspace called “Nowhere”" in text for text in told)
    assert all(tag["role"] == "alert" for tag in found.tags if "warning" in tag.get("class", ""))


def test_an_outcome_is_shown_with_its_reason(world: World):
    making.settle(world.question, Cancelled(CancellationReason.USER))
    up_to_date()
    found = look(world, q="kind:question")
    (badge,) = [tag for tag in found.tags if tag.get("data-outcome")]
    assert (badge["data-outcome"], badge["data-reason"]) == ("cancelled", "user")


def test_a_secret_question_shows_no_answer(world: World):
    making.settle(making.question(world.run, Secret(), "Token?"), Redacted())
    up_to_date()
    found = look(world, q="outcome:redacted")
    assert len(links(found)) == 1
    assert "Redacted" in found.text


@pytest.mark.parametrize("who", ["outsider", "rival"])
def test_others_find_nothing_and_learn_nothing(world: World, who: str):
    say(world, "pear")
    Conversation.objects.update(needs_indexing=True)
    found = look(world, who, q="pear", **{"in": "Garden"})
    assert (links(found), heading(found)) == ([], "No results")
    assert notices(found) == ["You are not in a workspace called “Garden”."]
    assert "Garden" not in [tag.text for tag in found.tags if tag.tag == "option"]


def test_what_is_yet_to_be_indexed_is_told(world: World):
    assert any("Still indexing 1 conversation;" in text for text in notices(look(world)))
    up_to_date()
    assert notices(look(world)) == []


def test_pages_go_on_by_key(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "PAGE_HITS", 2)
    say(world, *(f"pear {n}" for n in range(5)))
    seen: list[str] = []
    given: dict[str, Any] = {"q": "pear", "kind": "assistant"}
    pages = 0
    while given:
        assert (given["q"], given["kind"]) == ("pear", "assistant")
        found = look(world, **given)
        seen += links(found)
        assert heading(found) == "5 results"
        following = [urlsplit(tag["href"]).query for tag in found.tags if tag.get("rel") == "next"]
        given = {name: value[0] for query in following for name, value in parse_qs(query).items()}
        pages += 1
    assert (len(seen), len(set(seen)), pages) == (5, 5, 3)


@pytest.mark.parametrize("below", ["x", "-1", "9" * 19, "9" * 99, "\u0661"])
def test_a_continuation_that_cannot_be_read_is_the_beginning(world: World, below: str):
    say(world, "pear")
    assert len(links(look(world, q="pear", below=below))) == 1


def test_many_are_counted_up_to_a_bound(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "COUNT_LIMIT", 3)
    monkeypatch.setattr(engine, "PAGE_HITS", 2)
    monkeypatch.setattr(engine, "MAX_RANKED_HITS", 2)
    say(world, *["pear"] * 5)
    assert heading(look(world, q="pear")) == "More than 3 results"
    assert heading(look(world, q="pear", sort="best")) == "More than 3 results, best first"
    assert heading(look(world, q="pear -pear")) == "No results"


def test_a_search_is_saved_listed_and_deleted(world: World):
    client = world.client("reader")
    data = {"name": " Pears ", "query": "q=pear&kind=question"}
    answer = client.post("/search/save", data)
    assert answer["Location"] == "/search?q=pear&kind=question"
    (kept,) = SavedSearch.objects.all()
    found = look(world)
    assert [tag["href"] for tag in found.tags if tag.text == "Pears" and tag.tag == "a"] == [
        "/search?q=pear&kind=question"
    ]
    assert "Pears" not in look(world, "owner").text
    world.client("owner").post("/search/forget", {"search": kept.pk})
    assert SavedSearch.objects.count() == 1
    client.post("/search/forget", {"search": kept.pk})
    assert SavedSearch.objects.count() == 0
    assert (
        "already deleted"
        in client.post("/search/forget", {"search": "x"}, follow=True).content.decode()
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"name": "", "query": "q=x"}, "Enter a name for this search"),
        ({"name": "x", "query": ""}, "no search to save"),
        ({"name": "x", "query": "q=" + "x" * 2000}, "too long"),
        ({"name": "x", "query": "q=x\r\nSet-Cookie: a=b"}, "Saved as"),
        ({"name": "x", "query": "colour=green&below=1"}, "no search to save"),
    ],
)
def test_what_cannot_be_saved_is_told(world: World, data: dict[str, str], says: str):
    client = world.client("reader")
    client.post("/search/save", data)
    assert says in client.get("/search").content.decode()


def test_the_form_offers_to_save_what_stands_in_the_address(world: World):
    found = look(world, q="pear", kind="question", colour="green")
    (field,) = [tag for tag in found.tags if tag.get("name") == "query"]
    assert field["value"] == "q=pear&kind=question"
    assert [tag for tag in look(world).tags if tag.get("name") == "query"] == []


def test_each_category_that_is_indexed_has_its_word():
    named = {
        category
        for categories in query_parser.CATEGORIES_BY_KIND.values()
        for category in categories
    }
    assert named == set(display_text.HIT_CATEGORY_LABELS)
    assert set(display_text.SEARCH_KIND_LABELS) == set(query_parser.CATEGORIES_BY_KIND)
    assert named - {"title"} <= set(CATEGORIES)


def test_the_queries_of_the_page_do_not_grow(world: World):
    client = world.client("owner")
    counted = []
    for texts in (["pear"] * 3, ["pear"] * 60):
        say(world, *texts)
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/search?q=pear&in=Garden").status_code == 200
        counted.append(len(captured))
    assert counted[1] - counted[0] == 1  # the count, where the page does not show all
    assert counted[1] <= 14

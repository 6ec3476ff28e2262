"""The page of search."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import journal
from jpweb.store.models import Conversation, JournalEntry, SavedSearch
from jpweb.store.search import conversation_groups, engine, query_parser
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ChatRequest, ChatResponse
from jpweb.stream.inquiry import CancellationReason, Cancelled, Redacted
from jpweb.stream.transcript.categories import CATEGORIES
from jpweb.web import display_text
from tests.store import making
from tests.store.background_passes import index_all
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import World

HOSTILE = "<script>alert(1)</script> & pear"


def say(world: World, *texts: str) -> None:
    events = [making.event(ChatResponse("message", text)) for text in texts]
    journal.append_events(world.conversation.pk, events)
    index_all()


def look(world: World, person_name: str = "reader", **filters: Any) -> ParsedPage:
    response = world.client(person_name).get(f"/search?{urlencode(filters)}")
    assert response.status_code == 200
    html_page = parse_page(response)
    assert (html_page.crossed, html_page.unclosed) == ([], [])
    return html_page


def links(html_page: ParsedPage) -> list[str]:
    return [tag["href"] for tag in html_page.tags if "hit-link" in tag.get("class", "").split()]


def notices(html_page: ParsedPage) -> list[str]:
    return [tag.text for tag in html_page.tags if "notice" in tag.get("class", "").split()]


def heading(html_page: ParsedPage) -> str:
    return next(tag.text for tag in html_page.tags if tag.get("id") == "count")


def test_search_page_without_a_query_shows_examples(world: World):
    html_page = look(world)
    examples = [tag.text for tag in html_page.tags if tag.tag == "dt"]
    assert examples == [example for example, _ in display_text.QUERY_EXAMPLES]
    assert all(query_parser.parse_query(example).problems == () for example in examples)
    for tag in html_page.tags:
        if tag.tag == "a" and tag.inside(**{"class": "examples"}):
            assert parse_qs(urlsplit(tag["href"]).query)["q"][0] == tag.text


def test_search_hit_link_has_event_and_highlight_words(world: World):
    say(world, "nothing", "A pear tree, pruned")
    html_page = look(world, q='"pear tree" prun* kind:assistant -apple')
    anchor = JournalEntry.objects.get(
        conversation=world.conversation, text__contains="pruned"
    ).anchor
    (link,) = links(html_page)
    url = urlsplit(link)
    assert (url.path, url.fragment) == (f"/conversations/{world.conversation.pk}", anchor)
    assert parse_qs(url.query) == {"at": [anchor], "q": ['"pear tree" prun*']}
    assert [tag.text for tag in html_page.tags if tag.tag == "mark"] == ["pear tree", "pruned"]
    assert heading(html_page) == "1 conversation, 1 event"
    assert "Assistant" in html_page.text
    assert "Garden" in html_page.text


def test_a_title_leads_to_the_conversation(world: World):
    index_all()
    assert links(look(world, q="kind:title talk")) == [f"/conversations/{world.conversation.pk}"]


def test_hostile_markup_in_results_is_escaped(world: World):
    Conversation.objects.filter(pk=world.conversation.pk).update(title=HOSTILE)
    say(world, HOSTILE)
    html_page = look(world, q=f"pear {HOSTILE}", tool='"><img>')
    assert not [tag for tag in html_page.tags if tag.tag == "img"]
    html_page = look(world, q="pear", sort="best")
    assert HOSTILE in [tag.text for tag in html_page.tags if tag.tag == "bdi"]
    assert [tag for tag in html_page.tags if tag.tag == "script" and not tag.get("src")] == []


def test_search_filters_are_in_the_url_and_the_form(world: World):
    tool = world.question.asker
    filters = {"q": "go", "kind": "question", "outcome": "open", "tool": tool, "before": "2030-01"}
    index_all()
    html_page = look(world, **filters)
    assert len(links(html_page)) == 1
    fields = {tag["name"]: tag for tag in html_page.tags if tag.get("name") in filters}
    assert (fields["tool"]["value"], fields["before"]["value"]) == (tool, "2030-01")
    assert fields["before"]["type"] == "text"
    selected_values = [
        tag["value"] for tag in html_page.tags if tag.tag == "option" and "selected" in tag
    ]
    assert selected_values[:2] == ["question", "open"]
    (fold,) = [tag for tag in html_page.tags if tag.get("class") == "more-filters"]
    assert "open" in fold
    assert "open" not in next(
        tag for tag in look(world, q="go").tags if tag.get("class") == "more-filters"
    )


@pytest.mark.parametrize("reason", ["", "user", "eaten"])
def test_search_reason_filter_offers_labels_of_tags(world: World, reason: str):
    html_page = look(world, q="go", reason=reason)
    (select,) = [tag for tag in html_page.tags if tag.get("name") == "reason"]
    options = [tag for tag in html_page.tags if tag.tag == "option" and tag.inside(name="reason")]
    assert select.tag == "select"
    assert {option["value"] for option in options} >= {"", *CancellationReason}
    assert [option["value"] for option in options if "selected" in option] == [reason]
    assert all(option.text.strip() not in ("", option["value"]) for option in options)


def test_search_page_reports_invalid_filters_and_uses_the_rest(world: World):
    say(world, "pear")
    html_page = look(world, q="pear before:soon kind:novel", **{"in": "Nowhere"})
    assert len(links(html_page)) == 1
    notice_texts = notices(html_page)
    assert len(notice_texts) == 3
    assert any("before:2026-05" in text for text in notice_texts)
    assert any("Unknown kind “novel”" in text for text in notice_texts)
    assert any("not in a workspace called “Nowhere”" in text for text in notice_texts)
    assert all(
        tag["role"] == "alert" for tag in html_page.tags if "warning" in tag.get("class", "")
    )


def test_an_outcome_is_shown_with_its_reason(world: World):
    making.settle(world.question, Cancelled(CancellationReason.USER))
    index_all()
    html_page = look(world, q="kind:question")
    (badge,) = [tag for tag in html_page.tags if tag.get("data-outcome")]
    assert (badge["data-outcome"], badge["data-reason"]) == ("cancelled", "user")


def test_a_secret_question_shows_no_answer(world: World):
    making.settle(making.question(world.run, Secret(), "Token?"), Redacted())
    index_all()
    html_page = look(world, q="outcome:redacted")
    assert len(links(html_page)) == 1
    assert "Redacted" in html_page.text


@pytest.mark.parametrize("person_name", ["outsider", "rival"])
def test_search_page_of_other_people_reveals_nothing(world: World, person_name: str):
    say(world, "pear")
    Conversation.objects.update(needs_indexing=True)
    html_page = look(world, person_name, q="pear", **{"in": "Garden"})
    assert (links(html_page), heading(html_page)) == ([], "No results")
    assert notices(html_page) == ["You are not in a workspace called “Garden”."]
    options = [tag for tag in html_page.tags if tag.tag == "option" and tag.text == "Garden"]
    assert ["selected" in option for option in options] == [True], "what they asked for alone"


def test_search_page_counts_unindexed_conversations(world: World):
    assert any("Still indexing 1 conversation;" in text for text in notices(look(world)))
    index_all()
    assert notices(look(world)) == []


def test_pages_go_on_by_key(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "PAGE_HITS", 2)
    say(world, *(f"pear {n}" for n in range(5)))
    link_list: list[str] = []
    filters: dict[str, Any] = {"q": "pear", "kind": "assistant", "sort": "newest"}
    pages = 0
    while filters:
        assert (filters["q"], filters["kind"]) == ("pear", "assistant")
        html_page = look(world, **filters)
        link_list += links(html_page)
        assert heading(html_page) == "5 results"
        following = [
            urlsplit(tag["href"]).query for tag in html_page.tags if tag.get("rel") == "next"
        ]
        filters = {name: value[0] for query in following for name, value in parse_qs(query).items()}
        pages += 1
    assert (len(link_list), len(set(link_list)), pages) == (5, 5, 3)


@pytest.mark.parametrize("cursor", ["x", "-1", "9" * 19, "9" * 99, "\u0661"])
def test_a_continuation_that_cannot_be_read_is_the_beginning(world: World, cursor: str):
    say(world, "pear")
    assert len(links(look(world, q="pear", below=cursor))) == 1


def test_search_page_counts_results_up_to_its_limit(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "COUNT_LIMIT", 3)
    monkeypatch.setattr(engine, "PAGE_HITS", 2)
    monkeypatch.setattr(conversation_groups, "MAX_EVENTS_PER_TERM", 3)
    say(world, *["pear"] * 5)
    assert heading(look(world, q="pear", sort="newest")) == "More than 3 results"
    assert heading(look(world, q="pear")) == "At least 1 conversation, 3 events"
    assert heading(look(world, q="pear -pear")) == "No results"


def test_search_results_are_grouped_with_kinds_of_matches(world: World):
    say(world, "a pear", "another pear", "a plum")
    html_page = look(world, q="which pear or quince")
    (group,) = [tag for tag in html_page.tags if tag.get("class") == "row group"]
    assert group["data-conversation"] == str(world.conversation.pk)
    assert len(links(html_page)) == 2
    assert "without quince" in html_page.text
    assert notices(html_page) == [
        "No conversation has all of these words. These have some of them."
    ]
    assert "Left out: which, or." in html_page.text
    assert len(links(look(world, q="pear", sort="newest"))) == 2


def test_search_hit_link_has_the_matched_words_of_a_sentence(world: World):
    say(world, "We chose the small embedding model.")
    (link,) = links(look(world, q="which embedding models was chosen -pear ls"))
    assert parse_qs(urlsplit(link).query)["q"] == ["embedding model chose"]


def test_spelled_filters_are_chips_that_remove_them(world: World):
    say(world, "a pear")
    html_page = look(world, q="pear kind:assistant in:garden -plum", before="2030-01")
    chips = [tag for tag in html_page.tags if tag.get("class") == "chip"]
    texts = ["kind:assistant", "in:garden", "before:2030-01-01"]
    assert [chip.text.split()[0] for chip in chips] == texts
    queries = [parse_qs(urlsplit(chip["href"]).query)["q"][0] for chip in chips]
    assert queries == [
        "pear -plum in:garden before:2030-01-01",
        "pear -plum kind:assistant before:2030-01-01",
        "pear -plum kind:assistant in:garden",
    ]
    for query_text in queries:
        assert len(links(look(world, q=query_text))) == 1


def test_search_kind_chips_narrow_the_results(world: World):
    say(world, "a pear")
    journal.append_events(world.conversation.pk, [making.event(ChatRequest("which pear?"))])
    index_all()
    html_page = look(world, q="pear")
    chips = {
        " ".join(tag.text.split()): tag["href"]
        for tag in html_page.tags
        if tag.get("class") == "chip"
    }
    assert chips == {"Prompts 1": "?q=pear&kind=person", "Assistant 1": "?q=pear&kind=assistant"}
    assert len(links(look(world, q="pear", kind="person"))) == 1


def test_a_search_is_saved_listed_and_deleted(world: World):
    client = world.client("reader")
    data = {"name": " Pears ", "query": "q=pear&kind=question"}
    answer = client.post("/search/save", data)
    assert answer["Location"] == "/search?q=pear&kind=question"
    (saved_search,) = SavedSearch.objects.all()
    html_page = look(world)
    assert [tag["href"] for tag in html_page.tags if tag.text == "Pears" and tag.tag == "a"] == [
        "/search?q=pear&kind=question"
    ]
    assert "Pears" not in look(world, "owner").text
    world.client("owner").post("/search/forget", {"search": saved_search.pk})
    assert SavedSearch.objects.count() == 1
    client.post("/search/forget", {"search": saved_search.pk})
    assert SavedSearch.objects.count() == 0
    assert (
        "already deleted"
        in client.post("/search/forget", {"search": "x"}, follow=True).content.decode()
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "", "query": "q=x"}, "Enter a name for this search"),
        ({"name": "x", "query": ""}, "no search to save"),
        ({"name": "x", "query": "q=" + "x" * 2000}, "too long"),
        ({"name": "x", "query": "q=x\r\nSet-Cookie: a=b"}, "Saved as"),
        ({"name": "x", "query": "colour=green&below=1"}, "no search to save"),
    ],
)
def test_save_search_reports_invalid_input(world: World, data: dict[str, str], message: str):
    client = world.client("reader")
    client.post("/search/save", data)
    assert message in client.get("/search").content.decode()


@pytest.mark.parametrize(
    ("name", "message"), [("x" * 81, "Shorten the name to 80 characters"), ("a\0", "Null char")]
)
def test_saved_search_of_an_invalid_name_is_refused(world: World, name: str, message: str):
    response = world.client("reader").post(
        "/search/save", {"name": name, "query": "q=x"}, follow=True
    )
    assert response.redirect_chain == [("/search?q=x", 302)]
    assert message in response.content.decode()
    assert not SavedSearch.objects.exists()


def test_save_search_form_has_the_query_of_the_url(world: World):
    html_page = look(world, q="pear", kind="question", color="green")
    (field,) = [tag for tag in html_page.tags if tag.get("name") == "query"]
    assert field["value"] == "q=pear&kind=question"
    assert [tag for tag in look(world).tags if tag.get("name") == "query"] == []


def test_search_category_labels_cover_indexed_categories():
    categories = {
        category
        for categories in query_parser.CATEGORIES_BY_KIND.values()
        for category in categories
    }
    assert categories == set(display_text.HIT_CATEGORY_LABELS)
    assert set(display_text.SEARCH_KIND_LABELS) == set(query_parser.CATEGORIES_BY_KIND)
    assert categories - {"title"} <= set(CATEGORIES)


def test_the_queries_of_the_page_do_not_grow(world: World):
    client = world.client("owner")
    counts = []
    for texts in (["pear"] * 3, ["pear"] * 60):
        say(world, *texts)
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/search?q=pear&in=Garden").status_code == 200
        counts.append(len(captured))
    assert counts[1] == counts[0]
    assert counts[1] <= 14

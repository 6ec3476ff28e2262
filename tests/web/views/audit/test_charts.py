"""The page of charts: each has its table, whose links lead to what they count."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import QueryDict

from jpweb.store import audit
from jpweb.store.audit import AuditFilters
from jpweb.store.models import DisplayReceipt
from jpweb.store.reviews import inquiry_counts
from jpweb.web.forms.filters.inquiry_filters import InquiryFilterForm
from tests.store import making
from tests.store.reviews.audited_rows import BEGIN, save_inquiry, save_many
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.world import World

FIGURES = (
    "outcomes", "reasons", "workspaces", "tools", "readers", "hours", "people", "deciders", "ages"
)  # fmt: skip
NAME = '</title><img src=x onerror="alert(1)">'


def get(world: World, **filters: Any) -> Any:
    return world.client("auditor").get(f"/audit/charts?{urlencode(filters)}")


def list_rows(page: ParsedPage) -> list[list[Tag]]:
    """Return the cells of the tables' rows."""
    rows: dict[int, list[Tag]] = {}
    for tag in page:
        if tag.tag in ("td", "th"):
            rows.setdefault(id(tag.parents[-1]), []).append(tag)
    return [*rows.values()]


def list_links(page: ParsedPage) -> dict[int, str]:
    """Return the addresses of links by their cells."""
    return {id(tag.parents[-1]): tag["href"] for tag in page if tag.tag == "a" and tag.parents}


def count_behind(world: World, address: str | None) -> int | None:
    """Return how many questions the audit table shows at an address; None without one."""
    if address is None:
        return None
    path, _, query = address.partition("?")
    assert path == "/audit"
    form = InquiryFilterForm(QueryDict(query))
    assert form.is_valid()
    filters = AuditFilters(**form.cleaned_data)
    return audit.list_inquiries(world.people["auditor"].pk, filters).count()


FILTERS = [{}, {"since": "2026-03-05", "until": "2026-05-09"}, {"outcome": "cancelled"}]


def test_chart_links_lead_to_the_counted_questions(world: World):
    save_many([world.conversation], 80, 70)
    for filters in FILTERS:
        check_links(world, parse_page(get(world, **filters)))


def check_links(world: World, page: ParsedPage) -> None:
    """Check that each link of a chart leads to as many questions as it says."""
    links = list_links(page)
    heading_count = cell_count = 0
    for heading, *cells in list_rows(page):
        numbers = [int(cell.text) for cell in cells if cell.text.strip().isdigit()]
        counts = [count_behind(world, links.get(id(cell))) for cell in cells]
        for number, count in zip(numbers, counts, strict=False):
            assert count in (None, number), heading.text
        total = count_behind(world, links.get(id(heading)))
        assert total in (None, sum(numbers)), heading.text
        heading_count += total is not None
        cell_count += len([count for count in counts if count is not None])
    assert heading_count > 12
    assert cell_count > heading_count


def test_charts_have_a_title_an_svg_and_a_table(world: World):
    save_many([world.conversation], 60, 20)
    page = parse_page(get(world))
    for name in FIGURES:
        figure = page.find_one(id=f"chart-{name}")
        title = page.find_one(id=figure["aria-labelledby"])
        inner = [tag for tag in page if figure in tag.parents]
        assert title.text
        assert {"figcaption", "details", "table", "th"} <= {tag.tag for tag in inner}
        assert [tag["class"] for tag in inner if "viewbox" in tag and "class" in tag] == ["chart"]
    assert not [tag for tag in page if "style" in tag or tag.tag == "style"]


def test_questions_beyond_the_periods_are_counted_and_linked(world: World):
    for year in (1900, 1950, 2026, 2099):
        save_inquiry(world.conversation, asked_at=BEGIN.replace(year=year))
    page = parse_page(get(world))
    (notice,) = [tag for tag in page.find_all(**{"class": "notice"}) if "Not drawn" in tag.text]
    text = " ".join(notice.text.split())
    assert text == (
        "Not drawn: 2 questions before 1 Jan 1967, and 1 question after 2 Mar 2026. "
        "Choose dates to draw them."
    )
    links = [tag["href"] for tag in page if tag.tag == "a" and notice in tag.parents]
    assert [count_behind(world, address) for address in links] == [2, 1]
    assert "Not drawn" not in parse_page(get(world, until="2026-12-31", since="2026-01-01")).text


def test_days_have_the_form_that_other_pages_give_them(world: World):
    save_many([world.conversation], 80, 70)
    headings = [row[0].text.strip() for row in list_rows(parse_page(get(world)))]
    days = [text for text in headings if re.search(r"\b20\d\d\b", text)]
    assert days
    day = r"\d{1,2} [A-Z][a-z]{2} 20\d\d"
    assert [text for text in days if not re.fullmatch(f"{day}( to {day})?", text)] == []


def test_waits_until_questions_were_seen_are_drawn_where_there_are_any(world: World):
    row = save_inquiry(world.conversation)
    assert "Seen: median" not in parse_page(get(world)).find_one(id="chart-tools").text
    seen_at = row.asked_at + timedelta(milliseconds=250)
    DisplayReceipt.objects.create(
        inquiry=row, person_name="Ben", delivered_at=row.asked_at, visible_at=seen_at
    )
    page = parse_page(get(world))
    tips = [tag.text for tag in page if tag.tag == "title" and tag.inside(id="chart-tools")]
    assert sorted(tips) == [
        "vault · Answered: 95th percentile: 1.0 s", "vault · Answered: median: 1.0 s",
        "vault · Seen: 95th percentile: 250 ms", "vault · Seen: median: 250 ms",
    ]  # fmt: skip
    rows = [[cell.text.strip() for cell in row] for row in list_rows(page)]
    assert ["vault", "1", "1.000", "1.000", "1", "0.250", "0.250"] in rows
    assert ["Ben", "0", "\N{EN DASH}", "\N{EN DASH}", "1", "0.250", "0.250"] in rows


def test_charts_without_data_show_a_message(world: World):
    page = parse_page(get(world, tool="no such tool"))
    assert not [tag for tag in page if tag.get("class") == "chart"]
    assert page.text.count("No matching question") == 5
    assert page.text.count("No person saw or answered a matching question.") == 3
    assert page.text.count("No person answered a matching question.") == 1


def test_names_from_streams_are_text(world: World):
    save_inquiry(world.conversation, asker=NAME, decider_name=NAME, state="cancelled", reason=NAME)
    world.workspace.name = NAME
    world.workspace.save()
    save_inquiry(world.conversation, asker=NAME)
    page = parse_page(get(world))
    assert (page.crossed, page.unclosed) == ([], [])
    assert not [tag for tag in page if tag.tag == "img" or "onerror" in tag]
    assert NAME in page.find_one(id="chart-workspaces").text


def test_filters_are_kept_between_table_and_charts(world: World):
    save_inquiry(world.conversation)
    client = world.client("auditor")
    filters = {"tool": "vault", "since": "2026-01-01"}
    table = parse_page(client.get("/audit", filters))
    (link,) = [tag["href"] for tag in table if tag.get("href", "").startswith("/audit/charts")]
    charts = parse_page(client.get(link))
    assert [tag.text for tag in charts if tag.tag == "option" and "selected" in tag] == ["vault"]
    back = f"/audit?{link.partition('?')[2]}"
    assert "tool=vault" in back
    assert charts.find_all(href=back)


def test_charts_say_which_questions_they_leave_out(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inquiry_counts, "MAX_COUNTED_ROWS", 2)
    save_inquiry(world.conversation, asked_at=BEGIN.replace(month=2))
    for _ in range(2):
        save_inquiry(world.conversation, asked_at=BEGIN.replace(year=2027))
    text = " ".join(parse_page(get(world)).text.split())
    assert "count the newest 2 questions that match, since 2 Mar 2027" in text


def test_a_wrong_filter_is_named_and_the_charts_remain(world: World):
    response = get(world, since="tomorrow")
    assert response.status_code == 422
    assert "since" in parse_page(response).text
    assert parse_page(response).find_all(**{"class": "chart"})


def test_charts_have_the_filter_by_id(world: World):
    client = world.client("auditor")
    identifier = world.question.inquiry_id
    page = client.get("/audit/charts", {"identifier": identifier}).content.decode()
    assert f'value="{identifier}"' in page
    assert "No matching question is waiting." not in page
    page = client.get("/audit/charts", {"identifier": "another"}).content.decode()
    assert "No matching question is waiting." in page


def test_ages_count_approvals_where_no_question_is_open(world: World):
    making.settle(world.question, making.ANSWER)
    making.prompt(world.run)
    page = parse_page(get(world))
    assert "No matching question is waiting." not in page.text
    assert "Waiting approvals" in [tag.text for tag in page if tag.tag == "th"]
    rows = [[cell.text.strip() for cell in row] for row in list_rows(page)]
    assert ["Under 1 minute", "0", "1"] in rows
    links = [tag.get("href") for tag in page if tag.inside(**{"class": "charts"})]
    assert "/audit?outcome=open" not in links

"""What people type into the search box."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jpweb.store.search import query_parser
from jpweb.store.search.query_parser import QueryFilter, QueryTerm, SearchQuery, parse_query


def day(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]  # year, month, day


def get_problem(query: SearchQuery) -> str:
    (problem,) = query.problems
    return problem


@pytest.mark.parametrize(
    ("query_text", "terms"),
    [
        ("", ()),
        ("  \t ", ()),
        ("word", (QueryTerm("word"),)),
        ("two words", (QueryTerm("two"), QueryTerm("words"))),
        ('"a phrase"', (QueryTerm("a phrase", is_quoted=True),)),
        ('"never closed', (QueryTerm("never closed", is_quoted=True),)),
        ('""', ()),
        ("begin*", (QueryTerm("begin", is_prefix=True),)),
        ('"a beg"*', (QueryTerm("a beg", is_prefix=True, is_quoted=True),)),
        ("begin***", (QueryTerm("begin", is_prefix=True),)),
        ("-without", (QueryTerm("without", is_negated=True),)),
        ('-"a phrase"', (QueryTerm("a phrase", is_negated=True, is_quoted=True),)),
        ("-beg*", (QueryTerm("beg", is_prefix=True, is_negated=True),)),
        ("-", ()),
        ("well-known", (QueryTerm("well-known"),)),
        ("src/jp.rs", (QueryTerm("src/jp.rs"),)),
        ("std::io", (QueryTerm("std::io"),)),
        ("https://example.org", (QueryTerm("https://example.org"),)),
        ("12:30", (QueryTerm("12:30"),)),
        ('say"what"', (QueryTerm("say"), QueryTerm("what", is_quoted=True))),
        (
            "AND OR NOT NEAR",
            (QueryTerm("AND"), QueryTerm("OR"), QueryTerm("NOT"), QueryTerm("NEAR")),
        ),
        ('tool:""', (QueryTerm("tool:"),)),
        ("tool:", (QueryTerm("tool:"),)),
        ('"kind:question"', (QueryTerm("kind:question", is_quoted=True),)),
        ("Größe", (QueryTerm("Größe"),)),
        ("nul\x00byte \ud800x", (QueryTerm("nul\ufffdbyte"), QueryTerm("\ufffdx"))),
    ],
)
def test_words_and_phrases_are_terms(query_text: str, terms: tuple[QueryTerm, ...]):
    query = parse_query(query_text)
    assert query.terms == terms
    assert (query.filters, query.problems) == ((), ())
    assert query.has_criteria is bool(terms)


@pytest.mark.parametrize(
    ("query_text", "filters"),
    [
        ("kind:question", [QueryFilter("kind", "question")]),
        ("KIND:Question", [QueryFilter("kind", "question")]),
        ("outcome:open", [QueryFilter("outcome", "open")]),
        ("tool:fs_read", [QueryFilter("tool", "fs_read")]),
        ('in:"my garden"', [QueryFilter("in", "my garden")]),
        ("-tool:fs", [QueryFilter("tool", "fs", is_negated=True)]),
        ("who:ada who:bob", [QueryFilter("who", "ada"), QueryFilter("who", "bob")]),
        ("label:topic=beds", [QueryFilter("label", "topic=beds")]),
        ("reason:strange_one", [QueryFilter("reason", "strange_one")]),
        ("who:@ada", [QueryFilter("who", "@ada")]),
    ],
)
def test_filters_are_typed(query_text: str, filters: list[QueryFilter]):
    query = parse_query(f"word {query_text}")
    assert list(query.filters) == filters
    assert query.terms == (QueryTerm("word"),)
    assert query.problems == ()


def test_parse_query_accepts_every_kind_and_outcome():
    query_text = " ".join(f"kind:{kind}" for kind in query_parser.CATEGORIES_BY_KIND)
    assert len(parse_query(query_text).filters) == len(query_parser.CATEGORIES_BY_KIND)
    assert parse_query("outcome:redacted outcome:unanswered").problems == ()


@pytest.mark.parametrize(
    ("query_text", "after", "before"),
    [
        ("after:2026", day(2026, 1, 1), None),
        ("before:2026-05", None, day(2026, 5, 1)),
        ("after:2026-01-31 before:2026-2-3", day(2026, 1, 31), day(2026, 2, 3)),
        ("after:2025 after:2026", day(2026, 1, 1), None),
        ("before:2025 before:2026", None, day(2025, 1, 1)),
    ],
)
def test_times_are_years_months_or_days(
    query_text: str, after: datetime | None, before: datetime | None
):
    query = parse_query(query_text)
    assert (query.after, query.before, query.problems) == (after, before, ())
    assert query.has_criteria


@pytest.mark.parametrize(
    ("query_text", "message"),
    [
        ("kind:novel", "Unknown kind “novel”. Use one of: title, person"),
        ("outcome:lost", "Unknown outcome “lost”. Use one of: open, answered"),
        ("before:soon", "“before” needs a year, month or day"),
        ("after:2026-13", "after:2026-05-31, not “2026-13”"),
        ("after:2026-02-30", "not “2026-02-30”"),
        ("after:0000", "not “0000”"),
        ("-after:2026", "not “-2026”"),
        ("after:2026-05 before:2026-05", "The start date must be before the end date."),
    ],
)
def test_parse_query_reports_invalid_filters_and_keeps_the_words(query_text: str, message: str):
    query = parse_query(f"word {query_text}")
    assert message in get_problem(query)
    assert query.terms == (QueryTerm("word"),)
    assert query.filters == ()


def test_parse_query_reports_an_unknown_filter_and_keeps_it_as_a_word():
    query = parse_query("word colour:green")
    assert get_problem(query).startswith("Unknown filter “colour”")
    assert "in, who, tool" in get_problem(query)
    assert query.terms == (QueryTerm("word"), QueryTerm("colour:green"))


def test_word_without_letter_or_digit_is_a_problem():
    query = parse_query("word ()")
    assert get_problem(query) == "“()” has no letter or digit to search for."
    assert query.terms == (QueryTerm("word"),)


def test_query_beyond_the_limits_is_cut_with_a_problem():
    many = parse_query(" ".join(f"w{n}" for n in range(60)))
    assert len(many.terms) == query_parser.MAX_TERMS
    assert get_problem(many) == f"Only the first {query_parser.MAX_TERMS} words are used."
    filters = parse_query(" ".join(f"tool:t{n}" for n in range(60)))
    assert len(filters.filters) == query_parser.MAX_TERMS
    assert get_problem(filters) == f"Only the first {query_parser.MAX_TERMS} filters are used."
    long = parse_query("x" * 5000)
    assert len(long.terms[0].text) == query_parser.MAX_QUERY_CHARS
    assert get_problem(long) == "Only the first 1,000 characters are searched."


def test_parse_query_of_form_filters_equals_typed_filters():
    filters = {"kind": "question", "before": "2026-05", "tool": " ", "colour": "green"}
    assert parse_query("word", filters) == parse_query("word kind:question before:2026-05")
    assert get_problem(parse_query("", {"kind": "novel"})).startswith("Unknown kind")


@pytest.mark.parametrize(
    ("query_text", "words"),
    [
        ('two "a phrase" beg* -not kind:question', 'two "a phrase" beg*'),
        ("kind:question", ""),
    ],
)
def test_highlighted_words_exclude_filters(query_text: str, words: str):
    assert parse_query(query_text).highlighted_words == words


@pytest.mark.parametrize(
    ("query_text", "highlighted", "words"),
    [
        ("GPT模型 -東京", ["gpt模型", "GPT 模型"], 'gpt模型 "GPT 模型"'),
        ("東京 pear", ["東京"], "東京"),
        ("GPT模型 pear", ['GPT"模型', "pear"], "pear"),
        ("東京 pear", [], "東京 pear"),
    ],
)
def test_find_words_highlights_cjk_text_in_its_form(
    query_text: str, highlighted: list[str], words: str
):
    assert parse_query(query_text).find_words(highlighted) == words


TYPED = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            ['"', "-", "*", ":", "kind:", "in:", "after:", "(", ")", "NOT", "NEAR(", "\x00"]
        ),
    )
).map("".join)


@given(TYPED)
@example('-"')
@example('""""""')
@example("kind:kind:kind")
def test_parse_query_accepts_any_text(query_text: str):
    query = parse_query(query_text, {"kind": query_text, "in": query_text, "after": query_text})
    assert len(query.terms) <= query_parser.MAX_TERMS
    assert all(term.text for term in query.terms)
    assert parse_query(query.highlighted_words).terms == tuple(
        term for term in query.terms if not term.is_negated
    ) or any(set('"*:-') & set(term.text) for term in query.terms)

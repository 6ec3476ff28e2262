"""What people type into the search box."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jpweb.store.finding import language
from jpweb.store.finding.language import Filter, Query, Term, read


def day(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]  # year, month, day


def told(query: Query) -> str:
    (problem,) = query.problems
    return problem


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("", ()),
        ("  \t ", ()),
        ("word", (Term("word"),)),
        ("two words", (Term("two"), Term("words"))),
        ('"a phrase"', (Term("a phrase"),)),
        ('"never closed', (Term("never closed"),)),
        ('""', ()),
        ("begin*", (Term("begin", begun=True),)),
        ('"a beg"*', (Term("a beg", begun=True),)),
        ("begin***", (Term("begin", begun=True),)),
        ("-without", (Term("without", negated=True),)),
        ('-"a phrase"', (Term("a phrase", negated=True),)),
        ("-beg*", (Term("beg", begun=True, negated=True),)),
        ("-", ()),
        ("well-known", (Term("well-known"),)),
        ("src/jp.rs", (Term("src/jp.rs"),)),
        ("std::io", (Term("std::io"),)),
        ("https://example.org", (Term("https://example.org"),)),
        ("12:30", (Term("12:30"),)),
        ('say"what"', (Term("say"), Term("what"))),
        ("AND OR NOT NEAR", (Term("AND"), Term("OR"), Term("NOT"), Term("NEAR"))),
        ('tool:""', (Term("tool:"),)),
        ("tool:", (Term("tool:"),)),
        ('"kind:question"', (Term("kind:question"),)),
        ("Größe", (Term("Größe"),)),
        ("nul\x00byte \ud800x", (Term("nul\ufffdbyte"), Term("\ufffdx"))),
    ],
)
def test_words_and_phrases_are_terms(typed: str, terms: tuple[Term, ...]):
    query = read(typed)
    assert query.terms == terms
    assert (query.filters, query.problems) == ((), ())
    assert query.looks is bool(terms)


@pytest.mark.parametrize(
    ("typed", "filters"),
    [
        ("kind:question", [Filter("kind", "question")]),
        ("KIND:Question", [Filter("kind", "question")]),
        ("outcome:open", [Filter("outcome", "open")]),
        ("tool:fs_read", [Filter("tool", "fs_read")]),
        ('in:"my garden"', [Filter("in", "my garden")]),
        ("-tool:fs", [Filter("tool", "fs", negated=True)]),
        ("who:ada who:bob", [Filter("who", "ada"), Filter("who", "bob")]),
        ("label:topic=beds", [Filter("label", "topic=beds")]),
        ("reason:strange_one", [Filter("reason", "strange_one")]),
        ("who:@ada", [Filter("who", "@ada")]),
    ],
)
def test_filters_are_typed(typed: str, filters: list[Filter]):
    query = read(f"word {typed}")
    assert list(query.filters) == filters
    assert query.terms == (Term("word"),)
    assert query.problems == ()


def test_every_kind_and_outcome_can_be_named():
    typed = " ".join(f"kind:{kind}" for kind in language.KINDS)
    assert len(read(typed).filters) == len(language.KINDS)
    assert read("outcome:redacted outcome:unanswered").problems == ()


@pytest.mark.parametrize(
    ("typed", "after", "before"),
    [
        ("after:2026", day(2026, 1, 1), None),
        ("before:2026-05", None, day(2026, 5, 1)),
        ("after:2026-01-31 before:2026-2-3", day(2026, 1, 31), day(2026, 2, 3)),
        ("after:2025 after:2026", day(2026, 1, 1), None),
        ("before:2025 before:2026", None, day(2025, 1, 1)),
    ],
)
def test_times_are_years_months_or_days(
    typed: str, after: datetime | None, before: datetime | None
):
    query = read(typed)
    assert (query.after, query.before, query.problems) == (after, before, ())
    assert query.looks


@pytest.mark.parametrize(
    ("typed", "says"),
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
def test_what_cannot_be_read_is_told_and_the_rest_counts(typed: str, says: str):
    query = read(f"word {typed}")
    assert says in told(query)
    assert query.terms == (Term("word"),)
    assert query.filters == ()


def test_an_unknown_filter_is_told_and_looked_for_as_it_stands():
    query = read("word colour:green")
    assert told(query).startswith("Unknown filter “colour”")
    assert "in, who, tool" in told(query)
    assert query.terms == (Term("word"), Term("colour:green"))


def test_what_has_no_letter_is_told():
    query = read("word ()")
    assert told(query) == "“()” has no letter or digit to search for."
    assert query.terms == (Term("word"),)


def test_much_is_cut_and_told():
    many = read(" ".join(f"w{n}" for n in range(60)))
    assert len(many.terms) == language.MOST
    assert told(many) == f"Only the first {language.MOST} words are used."
    filters = read(" ".join(f"tool:t{n}" for n in range(60)))
    assert len(filters.filters) == language.MOST
    assert told(filters) == f"Only the first {language.MOST} filters are used."
    long = read("x" * 5000)
    assert len(long.terms[0].text) == language.LONGEST
    assert told(long) == "Only the first 1,000 characters are searched."


def test_what_is_chosen_counts_like_what_is_typed():
    chosen = {"kind": "question", "before": "2026-05", "tool": " ", "colour": "green"}
    assert read("word", chosen) == read("word kind:question before:2026-05")
    assert told(read("", {"kind": "novel"})).startswith("Unknown kind")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ('two "a phrase" beg* -not kind:question', 'two "a phrase" beg*'),
        ("kind:question", ""),
    ],
)
def test_the_words_alone_are_what_a_page_lights(typed: str, words: str):
    assert read(typed).words == words


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
def test_any_text_is_read(typed: str):
    query = read(typed, {"kind": typed, "in": typed, "after": typed})
    assert len(query.terms) <= language.MOST
    assert all(term.text for term in query.terms)
    assert read(query.words).terms == tuple(
        term for term in query.terms if not term.negated
    ) or any(set('"*:-') & set(term.text) for term in query.terms)

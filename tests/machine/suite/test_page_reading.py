"""Pages are read by their tokens as the standard library reads them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.reading import ParsedPage, parse_page

#: Pages of tokens alone.
TOKEN_PAGES = (
    '<!DOCTYPE html><html lang="en">\n<p Class=\'a &amp; "b"\' hidden>1 &lt; 2<br>3 > 2</p></html>',
    '<svg viewBox="0 0"><path d="M1"/><use /></svg></svg>',
    '<p title="a > b < c">a<!-- <b> - -->b</p><input value="">',
    "<ul><li>a<li>b</ul></i>",
    '<SCRIPT src="a"></SCRIPT><p>&eacute;&#10;&copy=</p>',
)
#: Pages that are left to the standard library.
OTHER_PAGES = (
    "<p class=a>b</p>",
    "<script>a && b</script>",
    "<style>a > b</style>",
    "<script>'<p>'</script>",
    "1 < 2 <p>3</p>",
    "<p>a <",
    "<p>a <b",
    '<p a="b"c="d">e',
    "<?a b?><p>c</p></ >",
    "<!-->a--><p>b</p>",
    "<p>a<!-- b --->c</p>",
)


def describe_page(page: ParsedPage) -> tuple[Any, ...]:
    tags = [(tag.tag, dict(tag), tag.text, [up.tag for up in tag.parents]) for tag in page]
    return tags, page.crossed, page.unclosed, page.text


@pytest.mark.parametrize("html", [*TOKEN_PAGES, *OTHER_PAGES])
def test_page_is_read_as_the_standard_library_reads_it(html: str, monkeypatch: pytest.MonkeyPatch):
    description = describe_page(parse_page(html))
    monkeypatch.setattr(ParsedPage, "_read_tokens", lambda *_: False)
    assert describe_page(parse_page(html)) == description


@pytest.mark.parametrize("html", TOKEN_PAGES)
def test_page_of_tokens_is_not_left_to_the_standard_library(
    html: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ParsedPage, "feed", None)
    assert parse_page(html).tags

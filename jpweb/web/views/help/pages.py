"""Help: the files of ``docs`` as pages, for all who are signed in.

``docs`` is a folder of a checkout, and part of the package in a wheel; ``jpweb.installation`` finds
it. Links between files are rewritten to help pages, and pictures to static files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse

from jpweb import installation
from jpweb.runtime.rendering import markdown
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.web.http import Request

#: Files of ``docs`` that are help pages; the others are for developers.
PAGES = (
    *("using", "answering", "auditing", "evidence", "tools-and-trust", "team"),
    *("models", "operations", "security"),
)
#: The file that lists all pages.
CONTENTS = "README"


@access.signed_in
def index(request: Request) -> HttpResponse:
    return _render_page(request, CONTENTS)


@access.signed_in
def page(request: Request, name: str) -> HttpResponse:
    if name not in PAGES:
        raise Http404
    return _render_page(request, name)


def _render_page(request: Request, name: str) -> HttpResponse:
    text = (installation.DOCS_DIR / f"{name}.md").read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    context = {
        "title": title,
        "html": markdown.render_document(text, _find_address),
        "is_contents": name == CONTENTS,
    }
    return render(request, "help/page.html", context)


def _find_address(file: str) -> str:
    """Return the URL of the help page of a file of ``docs``."""
    if file.startswith(f"{installation.PICTURES_DIR.name}/"):
        return static(file)
    name = file.removesuffix(".md")
    return reverse("help") if name == CONTENTS else reverse("help-page", args=[name])

"""README and ``docs``: complete, short, and without a dead link, also from the code.

What the code cites, a reader can open: a document of the repository, with its headings. A standard
is cited by its name, as ``RFC 9110, section 14.4``, and JP's design documents by their number:
``docs/jp-format.md`` says where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from os.path import normpath
from pathlib import Path

import pytest

from jpweb.cli.entrypoint import COMMANDS
from jpweb.web.views.help.pages import CONTENTS, PAGES
from tests.architecture.tree import list_files, read_text

README, OPERATIONS = Path("README.md"), Path("docs/operations.md")
DOCUMENTS = [README, *(Path(f"docs/{name}.md") for name in (CONTENTS, *PAGES))]
JP_RULES, CHANGELOG = Path("docs/jp-format.md"), Path("CHANGELOG.md")
#: Those for developers are wrapped, and their links lead somewhere, too.
WRAPPED = [
    *DOCUMENTS,
    *map(Path, ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/decisions.md")),
    JP_RULES,
    CHANGELOG,
]
#: The changelog is wrapped alone: some 200 of its sentences are longer, and tell the past.
SHORT_SENTENCES = [document for document in WRAPPED if document != CHANGELOG]
PICTURES = [path for path in list_files() if path.parent == Path("docs/pictures")]
MAX_LINE_CHARACTERS, MAX_SENTENCE_WORDS, MAX_PICTURE_BYTES = 100, 25, 150_000
MAX_PARAGRAPH_SENTENCES = 7
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE_BLOCK = re.compile(r"^```.*?^```\n", re.DOTALL | re.MULTILINE)
#: Where another sentence or another point of a list begins.
_SENTENCE_END = re.compile(r"[.?!](?:\s|$)|\n\s*\n|\n(?=\s*(?:[-#]|\d\.))")
#: Files that cite documents; this one has citations that lead nowhere.
CITING_SUFFIXES = {".css", ".html", ".js", ".md", ".py", ".toml"}
THIS_FILE = Path("tests/architecture/test_docs.py")
#: Where a comment or a docstring continues on its next line.
_LINE_BREAK = re.compile(r"\n[ \t]*(?:#:?[ \t]*)?")
#: A document of the repository, and the headings that are cited behind it.
_CITATION = re.compile(r"(?<![\w/])(docs/[\w-]+\.md)((?:, [A-Z][\w -]*)*)")
#: A document by a name that is no path here, with a number; a number alone.
_CLOSED_CITATION = re.compile(
    r"""
      \bjp-[a-z]+(?:-[a-z]+)*(?:\.md)?,?\ (?:sections?\ )?\d
    | \breferences?(?:/[\w-]+\.md|,?\ (?:sections?\ )?\d)
    | \(sections?\ \d
    | \ \(\d\d?\.\d\d?\)
    """,
    re.VERBOSE,
)
#: A read of one variable in the settings.
_SETTING = re.compile(r'(?:env\.\w+|read_\w+)\(\s*"([A-Z_]+)"')


def remove_markup(document: str) -> str:
    """Return the prose of a page: no code blocks, tables or pictures, and links as their text."""
    prose = _CODE_BLOCK.sub("\n", document)
    prose = re.sub(r"^(?:\||!\[).*$", "", prose, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose)


def list_cells(document: str) -> list[str]:
    """Return the cells of a page's tables, without rules and with links as their text."""
    rows = re.findall(r"^\|(.*)\|$", document, re.MULTILINE)
    cells = [cell for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    return [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell) for cell in cells]


def list_first_cells(document: Path, heading: str) -> list[str]:
    """Return the first word of each row of the table below a heading."""
    section = read_text(document).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)", section, re.MULTILINE)


def list_links() -> Iterator[tuple[Path, str]]:
    for document in WRAPPED:
        for link in _LINK.findall(read_text(document)):
            if "//" not in link:
                yield document, link


def name_anchors(document: Path) -> set[str]:
    """Return the fragments that lead to the headings of a page, as GitHub and comrak name them."""
    headings = list_headings(document)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def list_citing_files() -> list[Path]:
    return [path for path in list_files() if path.suffix in CITING_SUFFIXES and path != THIS_FILE]


def join_lines(text: str) -> str:
    """Return a text without line breaks, so that a citation is in one piece."""
    return _LINE_BREAK.sub(" ", text)


def list_headings(document: Path) -> set[str]:
    return {*re.findall(r"^#+ (.*)$", read_text(document), re.MULTILINE)}


def find_missing(text: str) -> list[str]:
    """Return the documents and headings that a text cites and the repository lacks."""
    missing = []
    for document, cited in _CITATION.findall(join_lines(text)):
        if Path(document) not in list_files():
            missing.append(document)
            continue
        headings = list_headings(Path(document))
        missing += [
            f"{document}, {heading}"
            for heading in cited.split(", ")[1:]
            if heading.strip() not in headings
        ]
    return missing


def test_operations_name_every_setting_once():
    settings = set(_SETTING.findall(read_text(Path("jpweb/settings.py"))))
    assert len(settings) > 15
    assert sorted(list_first_cells(OPERATIONS, "Settings")) == sorted(settings)


def test_operations_name_every_command_once():
    assert sorted(list_first_cells(OPERATIONS, "Commands")) == sorted(COMMANDS)


def test_labels_in_help_are_those_of_the_product():
    """Bold stands for a label in ``docs``, and for nothing else."""
    product = "\n".join(
        read_text(path)
        for path in list_files()
        if path.parts[0] in ("templates", "static") and path.suffix in (".html", ".js")
    )
    labels = {
        (str(page), label)
        for page in DOCUMENTS
        if page != README
        for label in re.findall(r"\*\*([^*]+)\*\*", read_text(page))
    }
    unknown = [label for label in labels if not re.search(rf"\b{re.escape(label[1])}\b", product)]
    assert sorted(unknown) == []


def test_links_of_documents_lead_to_files_and_headings():
    dead = []
    for document, link in list_links():
        name, _, fragment = link.partition("#")
        target = Path(normpath(document.parent / name)) if name else document
        if target not in list_files() or (fragment and fragment not in name_anchors(target)):
            dead.append(f"{document}: {link}")
    assert dead == []


def test_links_of_help_pages_stay_within_docs():
    pages = {*DOCUMENTS} - {README}
    links = [link for page, link in list_links() if page in pages and link.startswith("..")]
    assert links == []


def test_pictures_are_small_and_shown():
    names = {link.rpartition("/")[2] for _, link in list_links()}
    assert {path.name for path in PICTURES} <= names
    heavy = [path.name for path in PICTURES if path.stat().st_size > MAX_PICTURE_BYTES]
    assert heavy == []


@pytest.mark.parametrize("document", WRAPPED, ids=str)
def test_lines_of_documents_are_wrapped(document: Path):
    prose = re.sub(r"^(?:\||!\[).*$", "", read_text(document), flags=re.MULTILINE)
    assert [line for line in prose.splitlines() if len(line) > MAX_LINE_CHARACTERS] == []


@pytest.mark.parametrize("document", SHORT_SENTENCES, ids=str)
def test_sentences_of_documents_are_short(document: Path):
    text = read_text(document)
    parts = [remove_markup(text), *list_cells(text)]
    sentences = [sentence for part in parts for sentence in _SENTENCE_END.split(part)]
    assert [sentence for sentence in sentences if len(sentence.split()) > MAX_SENTENCE_WORDS] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_paragraphs_of_documents_are_short(document: Path):
    paragraphs = re.split(r"\n\s*\n", remove_markup(read_text(document)))
    lengths = {text: len(re.findall(r"[.?!](?:\s|$)", text)) for text in paragraphs}
    prose = {text: count for text, count in lengths.items() if not re.search(r"^\s*[-\d]", text)}
    assert [text for text, count in prose.items() if count > MAX_PARAGRAPH_SENTENCES] == []


def test_systemd_unit_ends_jpweb_alone_and_waits_for_the_network():
    """systemd ends running tools otherwise, too, and their calls are recorded as failed."""
    text = read_text(Path("docs/team.md"))
    (unit,) = re.findall(r"^```\n(\[Unit\]\n.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = {"KillMode=mixed", "After=network-online.target", "Wants=network-online.target"}
    assert lines <= {*unit.splitlines()}


def test_cited_documents_have_the_cited_headings():
    missing = {
        path: names for path in list_citing_files() if (names := find_missing(read_text(path)))
    }
    assert missing == {}


def test_no_citation_is_of_a_document_that_is_not_here():
    closed = {
        path: found.group()
        for path in list_citing_files()
        if (found := _CLOSED_CITATION.search(join_lines(read_text(path))))
    }
    assert closed == {}


def test_each_heading_about_jp_is_cited():
    texts = [join_lines(read_text(path)) for path in list_citing_files()]
    cited = {
        heading.strip()
        for text in texts
        for document, headings in _CITATION.findall(text)
        if document == str(JP_RULES)
        for heading in headings.split(", ")[1:]
    }
    assert list_headings(JP_RULES) - cited == {"JP's files and rules", "Reasoning"}


@pytest.mark.parametrize(
    "text",
    [
        "the lock (jp-storage-format, section 8).",
        "the lock (jp-storage-format,\n#: section 8).",
        "a retry (jp-rules 8.2)",
        "variables (jp-steering, 0)",
        "the table of reference/jp-inquiry-runtime.md",
        "who decides (reference 10.3)",
        "the folder's name (section 2)",
        "its effort (10.2).",
    ],
)
def test_citation_of_a_closed_document_is_recognised(text: str):
    assert _CLOSED_CITATION.search(join_lines(text))


@pytest.mark.parametrize(
    "text", ["docs/none.md", "(docs/jp-format.md, None)", "(docs/jp-format.md, Locks,\n    None)"]
)
def test_citation_of_a_missing_heading_is_recognised(text: str):
    assert find_missing(text)

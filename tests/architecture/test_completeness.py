"""A kind, reason, answer type, provider or setting that is added here and there, not everywhere."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from jpweb.agent.errors import FailureKind
from jpweb.agent.provider_info import PROVIDER_INFO
from jpweb.agent.tool_calls import model_messages, turn_state
from jpweb.agent.tools import ask_user
from jpweb.agent.tools.mcp import form_fields
from jpweb.runtime.rendering import payloads
from jpweb.store.choices import Act, ApprovalKind, WritePolicy
from jpweb.store.masking import replacement
from jpweb.store.search import passages
from jpweb.stream import answer_type, events, inquiry, outline, wire
from jpweb.stream.markdown import export, outcome_texts
from jpweb.stream.transcript.categories import CATEGORIES, categorize_element
from jpweb.web import display_text
from jpweb.web.labels import ledger_labels
from tests.architecture.tree import list_files, list_modules, read_text, walk_nodes
from tests.stream.markdown.whole_export import export_markdown

TEMPLATES = {str(path) for path in list_files() if path.parts[0] == "templates"}
SAMPLES = {path.name for path in list_files() if path.parts[:3] == ("tests", "samples", "events")}
OUTCOMES = [outcome.TAG for outcome in get_args(inquiry.InquiryOutcome)]
UNSETTLED = ["open", "unanswered"]
REASONS = [reason.value for reason in inquiry.CancellationReason]
#: The samples that are of a kind, by their file's name.
SAMPLED = {
    name: element
    for name in sorted(SAMPLES)
    if (element := wire.read_element(read_text(Path("tests/samples/events", name)))).kind
}
ALL_OPTIONS = export.MarkdownOptions(turns=False, reasoning=True)
#: Kinds that the Markdown export counts as omitted, and kinds in which search finds nothing.
OMITTED_KINDS = {"turn_start", "config_delta", "compaction"}
UNSEARCHED_KINDS = {"turn_start", "config_delta"}
#: Samples without words of their own: search finds the question that they end.
UNSEARCHED_SAMPLES = {f"inquiry_response.cancelled.{reason}.json" for reason in REASONS} | {
    "inquiry_response.cancelled.some_future_reason.json",
    "inquiry_response.redacted.json",
}
#: Fields that masking and redaction keep: they name an event, or say what became of it.
KEPT_FIELDS = {
    "id", "name", "source", "author", "outcome", "reason", "is_error", "from_turn", "to_turn",
}  # fmt: skip

#: Reasons that the general sentence of ``describe_unanswered`` quotes by their tag: a model reads
#: another function's text for them, or no more than that about them.
QUOTED_REASONS = {
    "user", "backend_error", "no_prompt_backend", "assistant_routing_denied",
    "invalid_static_answer", "lost",
}  # fmt: skip
#: Answer types that the assistant cannot ask for: a model would read the secret.
TYPES_KEPT_FROM_ASSISTANT = {"secret"}
#: A field of an MCP server's form for each answer type; None where no form can ask for the type.
FORM_FIELDS: dict[str, dict[str, Any] | None] = {
    "boolean": {"type": "boolean"},
    "select": {"enum": ["a", "b"]},
    "text": {"type": "string"},
    "secret": {"type": "string", "format": "password"},
}
#: Settings of a workspace whose values the ledger shows without a label: a time, and an id.
UNLABELLED_SETTINGS = {"expires_after", "user_local_copies"}


def test_display_labels_cover_all_kinds_states_reasons_and_acts():
    assert set(display_text.EVENT_KIND_LABELS) == {*events.KINDS}
    assert set(display_text.STATE_LABELS) == {*OUTCOMES, *UNSETTLED}
    assert set(outcome_texts.REASON_TEXTS) == {*REASONS}
    assert set(display_text.SOURCE_LABELS) == {source.value for source in inquiry.SourceTag}
    assert set(display_text.FAILURE_TEXTS) == {kind.value for kind in FailureKind}
    assert set(ledger_labels.ACT_LABELS) == {*Act}
    assert {kind for kind, _ in display_text.DECISION_LABELS} == {
        kind.value for kind in ApprovalKind
    }


def list_recorded_settings() -> dict[str, set[str]]:
    """Return the details that the store records of each setting of a workspace."""
    settings = {}
    for path in list_modules("jpweb"):
        for node in walk_nodes(path) if path.parts[1] == "store" else ():
            match node:
                case ast.Dict(keys=[ast.Constant("setting"), *others], values=[first, *_]):
                    name = ast.literal_eval(first)
                    settings[name] = {ast.literal_eval(key) for key in others if key}
                case _:
                    pass
    return settings


def test_settings_of_a_workspace_and_their_values_have_labels_unless_named():
    settings = list_recorded_settings()
    assert {*settings} == {*ledger_labels.SETTING_LABELS}
    valued = {name for name, details in settings.items() if "value" in details}
    assert valued - {*ledger_labels.SETTING_VALUE_LABELS} == UNLABELLED_SETTINGS
    assert {*ledger_labels.SETTING_VALUE_LABELS["writing"]} == {*WritePolicy}


@pytest.mark.parametrize("tag", events.KINDS)
def test_event_kind_has_a_template_and_a_sample(tag: str):
    assert f"templates/events/{tag}.html" in TEMPLATES
    assert any(name.split(".")[0] == tag for name in SAMPLES)


@pytest.mark.parametrize("kind", events.KINDS.values(), ids=[*events.KINDS])
def test_event_kind_has_a_category(kind: type[events.EventKind]):
    assert vars(kind).get("CATEGORY") in CATEGORIES or "category" in vars(kind)


@pytest.mark.parametrize("name", SAMPLED)
def test_sample_has_a_known_category(name: str):
    assert categorize_element(SAMPLED[name]) in CATEGORIES


def test_category_has_a_sample_and_a_count_label():
    categories = {categorize_element(element) for element in SAMPLED.values()}
    assert categories | {"legacy", "unknown", "broken"} == {*CATEGORIES}
    assert {*display_text.COUNT_LABELS} == {*CATEGORIES, "stray"}
    omissions = {tag: label for tag, label in export.OMISSION_LABELS.items() if tag != "arguments"}
    assert {*omissions} == {*OMITTED_KINDS, "reasoning", "results"}
    assert {*omissions.values()} <= {*display_text.COUNT_LABELS.values()}


def test_event_kind_has_a_payload_iterator():
    assert {*payloads._ITERATORS_BY_KIND} == {*events.KINDS.values()}


def list_passages(element: events.Element) -> list[passages.PassageDraft]:
    """Return the passages of an element whose question is known and not a secret one."""
    source = passages.SourceEntry(0, 0, "a", element)
    info = passages.InquiryInfo("tool", "answered", "", "Ada", is_secret=False)
    terms = passages.ConversationTerms(datetime(2026, 1, 1, tzinfo=UTC), frozenset())
    context = passages.EntryContext({}, {0: info}, {0: info})
    return list(passages.make_passages(source, terms, context))


@pytest.mark.parametrize("name", SAMPLED)
def test_search_finds_each_sample_but_those_named(name: str):
    drafts = list_passages(SAMPLED[name])
    is_named = SAMPLED[name].tag in UNSEARCHED_KINDS or name in UNSEARCHED_SAMPLES
    assert any(draft.body for draft in drafts) == (not is_named)
    assert {draft.category for draft in drafts} <= {*display_text.HIT_CATEGORY_LABELS}


@pytest.mark.parametrize("name", SAMPLED)
def test_masking_searches_each_field_of_each_sample_but_those_named(name: str):
    kind = SAMPLED[name].kind
    assert kind
    content_keys = replacement._CONTENT_KEYS.get(type(kind), ())
    assert {*kind.to_fields()} - KEPT_FIELDS <= {*content_keys}


@pytest.mark.parametrize("name", SAMPLED)
def test_markdown_has_each_sample_but_those_of_kinds_named(name: str):
    exported = export_markdown(outline.build_outline([SAMPLED[name]]), ALL_OPTIONS)
    assert exported.strip()
    assert exported.startswith("Omitted: ") == (SAMPLED[name].tag in OMITTED_KINDS)


@pytest.mark.parametrize("tag", [*OUTCOMES, *UNSETTLED])
def test_outcome_has_a_template(tag: str):
    assert f"templates/outcomes/{tag}.html" in TEMPLATES


@pytest.mark.parametrize("tag", OUTCOMES)
def test_outcome_has_a_sample(tag: str):
    assert any(name.startswith(f"inquiry_response.{tag}.") for name in SAMPLES)


@pytest.mark.parametrize("tag", REASONS)
def test_cancellation_reason_has_a_sample(tag: str):
    assert f"inquiry_response.cancelled.{tag}.json" in SAMPLES


def test_cancellation_reason_is_marked_as_final_and_as_undecided():
    reasons = {*inquiry.CancellationReason}
    assert {*turn_state._IS_FINAL_BY_REASON} == {*inquiry.IS_UNDECIDED_BY_REASON} == reasons


@pytest.mark.parametrize("tag", inquiry.UNDECIDED_REASONS)
def test_listed_cancellation_reason_is_explained_in_its_row(tag: str):
    assert f'row.reason == "{tag}"' in read_text(Path("templates/questions/_row.html"))


@pytest.mark.parametrize("tag", REASONS)
def test_cancellation_reason_has_a_model_message_unless_quoted(tag: str):
    reason = inquiry.CancellationReason(tag)
    text = model_messages.describe_unanswered("tool", "question", reason)
    assert (f"({tag})" in text) == (tag in QUOTED_REASONS)


@pytest.mark.parametrize("tag", answer_type.ANSWER_TYPES)
def test_answer_type_has_a_template_and_a_sample(tag: str):
    assert f"templates/answers/{tag}.html" in TEMPLATES
    assert f"inquiry_request.{tag}.json" in SAMPLES


def test_the_one_answer_that_is_not_recorded_is_the_secret():
    """Templates, views and search know it by its tag."""
    kinds = answer_type.ANSWER_TYPES.values()
    assert [kind.TAG for kind in kinds if not kind.RECORDS_ANSWER] == ["secret"]


@pytest.mark.parametrize("tag", answer_type.ANSWER_TYPES)
def test_the_assistant_is_offered_each_answer_type_but_those_named(tag: str):
    assert (tag in ask_user._ANSWER_TYPES) == (tag not in TYPES_KEPT_FROM_ASSISTANT)


@pytest.mark.parametrize("tag", answer_type.ANSWER_TYPES)
def test_mcp_forms_ask_for_each_answer_type_but_those_named(tag: str):
    assert tag in FORM_FIELDS, "name a field of it, or None"
    if part := FORM_FIELDS[tag]:
        (form_field,) = form_fields.read_fields({"properties": {"field": part}})
        assert tag == form_field.answer_type.TAG


@pytest.mark.parametrize("tag", ask_user._ANSWER_TYPES)
def test_the_assistant_asks_for_each_answer_type_that_it_is_offered(tag: str):
    arguments: dict[str, Any] = {"question": "Which?", "answer_type": tag}
    if tag == "select":
        arguments["options"] = ["a", "b"]
    assert ask_user._find_problem(arguments) is None
    assert ask_user._make_answer_type(arguments).to_fields()["type"] == tag
    problem = ask_user._find_text_problem({"question": "Which?", "answer_type": "?"})
    assert f"“{tag}”" in str(problem)


@pytest.mark.parametrize("name", PROVIDER_INFO)
def test_provider_has_both_an_adapter_and_a_row_in_the_docs_or_none(name: str):
    lines = read_text(Path("docs/models.md")).splitlines()
    rows = [line for line in lines if f"| `{name}`" in line]
    has_adapter = Path(f"jpweb/agent/providers/{name}.py") in list_files()
    assert has_adapter == PROVIDER_INFO[name].is_served == bool(rows)
    variable = PROVIDER_INFO[name].api_key_env
    assert all((f"`{variable}`" if variable else "none") in row for row in rows)


def test_provider_adapter_has_a_provider_info():
    names = {path.stem for path in list_files() if path.parent == Path("jpweb/agent/providers")}
    assert names - {"__init__", "scripted"} <= {*PROVIDER_INFO}


@pytest.mark.parametrize(
    ("folder", "known_stems"),
    [
        ("events", {*events.KINDS, "unknown", "broken"}),
        ("answers", {*answer_type.ANSWER_TYPES, "unknown"}),
    ],
)
def test_templates_of_removed_kinds_are_removed(folder: str, known_stems: set[str]):
    template_stems = {
        Path(t).stem for t in TEMPLATES if Path(t).parent == Path("templates", folder)
    }
    assert {stem for stem in template_stems if not stem.startswith("_")} <= known_stems

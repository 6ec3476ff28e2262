"""Random streams for property tests."""

from __future__ import annotations

from datetime import UTC

from hypothesis import strategies as st

from jpweb.stream import answer_type, events, inquiry
from tests import builders

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.sampled_from(["c1", "c1.q", "c2", "c1.q.1", "c2.q.1"])
jsons = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, jsons, max_size=3)
present = jsons.filter(lambda value: value is not None)
moments = st.datetimes(timezones=st.just(UTC))

options = st.builds(answer_type.Option, jsons, st.none() | texts)
answer_types = st.one_of(
    st.builds(answer_type.Boolean),
    st.builds(answer_type.Select, st.lists(options, max_size=3).map(tuple)),
    st.builds(answer_type.Text),
    st.builds(answer_type.Secret),
)
sources = st.one_of(
    st.builds(inquiry.InquirySource.for_tool, texts),
    st.builds(inquiry.InquirySource, st.just(inquiry.SourceTag.OTHER), texts),
    st.sampled_from([inquiry.SourceTag.ASSISTANT, inquiry.SourceTag.USER]).map(
        inquiry.InquirySource
    ),
)
questions = st.builds(
    inquiry.InquiryQuestion,
    texts,
    answer_types,
    jsons,
    st.none() | texts,
    st.booleans(),
    st.sampled_from(inquiry.AnswerReusePolicy),
)
outcomes = st.one_of(
    st.builds(inquiry.Answered, jsons),
    st.builds(inquiry.Cancelled, texts.map(inquiry.read_reason)),
    st.builds(inquiry.Cancelled, st.sampled_from(inquiry.CancellationReason)),
    st.just(inquiry.Redacted()),
)
policies = st.fixed_dictionaries(
    {}, optional={"summary": objects, "reasoning": st.just("strip"), "tool_calls": objects}
)
kinds = st.one_of(
    st.just(events.TurnStart()),
    st.builds(events.ChatRequest, texts, st.none() | objects, st.none() | texts),
    st.builds(events.ChatResponse, st.sampled_from(["message", "reasoning"]), texts),
    st.builds(events.ChatResponse, st.just("data"), jsons),
    st.builds(events.ToolCallRequest, ids, texts, objects),
    st.builds(events.ToolCallResponse, ids, texts, st.booleans()),
    st.builds(inquiry.InquiryRequest, ids, sources, questions),
    st.builds(inquiry.InquiryResponse, ids, outcomes),
    st.builds(events.ConfigDelta, objects),
    st.builds(events.Compaction, st.integers(0, 9), st.integers(0, 9), policies),
)
odd = st.one_of(
    jsons,
    st.sampled_from([{"type": tag} for tag in events.KINDS]),
    st.just({"type": "chat_request", "timestamp": builders.AT, "content": 1}),
).map(builders.raw)
calls = st.fixed_dictionaries({"id": ids, "name": texts, "arguments": objects})
replies = st.fixed_dictionaries(
    {"provider": texts},
    optional={
        "reasoning": texts,
        "content": texts,
        "tool_calls": st.lists(calls, max_size=2),
        "metadata": objects,
    },
)
results = st.fixed_dictionaries({"id": ids, "content": texts, "error": st.booleans()})
messages = texts | st.lists(results, min_size=1, max_size=2)
legacy = st.one_of(
    st.fixed_dictionaries(
        {"timestamp": st.just(builders.AT), "message": messages, "reply": replies},
        optional={"config_delta": objects, "context": objects},
    ),
    st.fixed_dictionaries(
        {"timestamp": st.just(builders.AT), "type": st.just("user_message"), "message": messages}
    ),
    st.builds(
        lambda reply: {"timestamp": builders.AT, "type": "assistant_message"} | reply, replies
    ),
).map(builders.raw)
streams = st.lists(st.one_of(kinds, kinds, kinds, odd, legacy), max_size=30).map(
    lambda parts: builders.stream(*parts)
)
#: Several turns in which few ids are used often: what pairing and repair are about.
tangles = st.lists(
    st.one_of(
        st.just(events.TurnStart()),
        st.builds(events.ChatRequest, texts),
        st.builds(events.ToolCallRequest, ids, texts),
        st.builds(events.ToolCallResponse, ids, texts, st.booleans()),
        st.builds(inquiry.InquiryRequest, ids, sources, questions),
        st.builds(inquiry.InquiryResponse, ids, outcomes),
        st.builds(events.ConfigDelta, objects),
        odd,
        legacy,
    ),
    max_size=24,
).map(lambda parts: builders.stream(*parts))
#: Calls and questions that are nearly all answered: few ids, few turns.
_few = st.sampled_from(["c1", "c1.q"])
questionings = st.lists(
    st.one_of(
        st.builds(events.ToolCallRequest, _few, st.just("t")),
        st.builds(events.ToolCallResponse, _few, texts, st.booleans()),
        st.builds(inquiry.InquiryRequest, _few, sources, questions),
        st.builds(inquiry.InquiryRequest, _few, sources, questions),
        st.builds(inquiry.InquiryResponse, _few, outcomes),
        st.builds(inquiry.InquiryResponse, _few, outcomes),
        st.sampled_from([events.TurnStart(), events.ChatResponse("message", "Hm")]),
        legacy,
    ),
    max_size=16,
).map(lambda parts: builders.stream(*parts))

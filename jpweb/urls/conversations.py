"""URL patterns of conversations, their turns and events."""

from __future__ import annotations

from django.urls import path

from jpweb.urls.prefixes import CONVERSATION
from jpweb.web.views import conversation_list, conversations, events, find, turns
from jpweb.web.views.audit import redaction
from jpweb.web.views.transcript_modes import compacted, configuration, raw, thread, timeline

urlpatterns = [
    path("conversations", conversation_list.list_conversations, name="conversations"),
    path(f"{CONVERSATION}/facts", conversation_list.show_metadata_forms, name="conversation-edit"),
    path(
        f"{CONVERSATION}/change", conversation_list.change_conversation, name="conversation-change"
    ),
    path("conversations/new", conversations.start_conversation, name="conversation-new"),
    path(CONVERSATION, conversations.show_conversation, name="conversation"),
    path(f"{CONVERSATION}/outline", conversations.show_turn_outline, name="conversation-outline"),
    path(f"{CONVERSATION}/find", find.search_conversation, name="conversation-find"),
    path(f"{CONVERSATION}/step", find.step_to_event, name="conversation-step"),
    path(f"{CONVERSATION}/read", conversations.mark_read, name="conversation-read"),
    path(f"{CONVERSATION}/raw", raw.show_raw, name="conversation-raw"),
    path(f"{CONVERSATION}/compacted", compacted.show_compacted, name="conversation-compacted"),
    path(f"{CONVERSATION}/timeline", timeline.show_timeline, name="conversation-timeline"),
    path(
        f"{CONVERSATION}/configuration",
        configuration.show_configuration,
        name="conversation-configuration",
    ),
    path(
        f"{CONVERSATION}/configuration/trust",
        configuration.change_trust,
        name="conversation-trust",
    ),
    path(f"{CONVERSATION}/thread", thread.show_thread, name="conversation-thread"),
    path(f"{CONVERSATION}/turns", turns.start_turn, name="conversation-start-turn"),
    path(f"{CONVERSATION}/stop", turns.stop_run, name="conversation-stop"),
    path(f"{CONVERSATION}/retry", turns.retry_turn, name="conversation-retry"),
    path(f"{CONVERSATION}/restart", turns.restart_tool_calls, name="conversation-restart"),
    path(f"{CONVERSATION}/respond", turns.respond_to_turn, name="conversation-respond"),
    path(f"{CONVERSATION}/events/<slug:anchor>", events.show_event, name="event"),
    path(f"{CONVERSATION}/events/<slug:anchor>.json", events.download_item, name="event-whole"),
    path(
        f"{CONVERSATION}/events/<slug:anchor>/redaction/edit",
        redaction.show_redaction,
        name="event-redact",
    ),
    path(
        f"{CONVERSATION}/events/<slug:anchor>/redaction/preview",
        redaction.preview_redaction,
        name="event-redact-preview",
    ),
    path(
        f"{CONVERSATION}/events/<slug:anchor>/redaction/confirm",
        redaction.redact_event,
        name="event-redact-confirm",
    ),
    path(
        f"{CONVERSATION}/events/<slug:anchor>/<slug:payload>",
        events.show_payload_part,
        name="event-part",
    ),
    path(
        f"{CONVERSATION}/events/<slug:anchor>/<slug:payload>.txt",
        events.download_payload,
        name="event-text",
    ),
    path(
        f"{CONVERSATION}/export/<slug:format_name>",
        conversations.export_conversation,
        name="conversation-export",
    ),
]

from __future__ import annotations

import pytest

from jpweb.store.models import Conversation, Person, Workspace
from jpweb.stream.events import ChatRequest, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import Answered, InquiryResponse
from tests.builders import make_inquiry
from tests.store import making
from tests.store.background_passes import index_all
from tests.store.redaction.canary import CANARY


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada")


@pytest.fixture
def conversation(workspace: Workspace, ada: Person) -> Conversation:
    """Return a conversation whose only run has ended, with the canary in each kind of event."""
    conversation: Conversation = making.mirrored_conversation(
        workspace,
        ChatRequest(f"Log in with {CANARY}, please"),
        ToolCallRequest("c", "vault", {"path": f"a {CANARY} b", "list": [CANARY]}),
        make_inquiry("c.apply.1"),
        InquiryResponse("c.apply.1", Answered(CANARY)),
        ToolCallResponse("c", f"wrote {CANARY}", False),
    )
    conversation.title = f"About {CANARY}"
    conversation.save()
    index_all()
    return conversation

"""From settings and a workspace's configuration to what a turn needs."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from jpweb.agent.calls.inquire import LlmInquiryBackend
from jpweb.agent.config import ModelConfig
from jpweb.agent.providers import PROVIDERS
from jpweb.agent.providers.scripted import Scripted
from jpweb.agent.setup import Setup

if TYPE_CHECKING:
    from jpweb.agent.ports import InquiryBackend, Provider
    from jpweb.store.models import Conversation


@dataclass(frozen=True, slots=True)
class Equipment:
    """What one turn works with."""

    setup: Setup
    provider: Provider
    backend: InquiryBackend


@asynccontextmanager
async def equipped(conversation: Conversation) -> AsyncIterator[Equipment]:
    """Open what the turns of a conversation need, for as long as the block lasts."""
    setup = Setup()
    chosen = model(conversation.workspace_id)
    backend = LlmInquiryBackend(open_model, chosen, setup.system, setup.tools)
    yield Equipment(setup, open_model(chosen), backend)


def model(workspace_id: int) -> ModelConfig:
    """Return the model that plays turns in a workspace."""
    return ModelConfig(settings.PROVIDER, "script")


def open_model(chosen: ModelConfig) -> Provider:
    """Return the provider of a model."""
    if chosen.provider == Scripted.NAME:
        return Scripted(pace=settings.SCRIPT_PACE)
    return PROVIDERS[chosen.provider]()


def providers() -> list[str]:
    """Return the names that a provider can be chosen by."""
    return sorted(PROVIDERS)


def provider_name() -> str:
    """Return its name, for people and for the run's row."""
    return str(settings.PROVIDER)


def holder() -> str:
    """Return the name under which this installation executes runs."""
    return f"{socket.gethostname()}:{settings.DATA_DIR}"[:100]

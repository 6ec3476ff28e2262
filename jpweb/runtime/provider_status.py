"""The providers of a configuration as people may see them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jpweb.agent.config import ProviderConfig, display
from jpweb.agent.config.trust import TrustItemKind
from jpweb.agent.provider_info import SELECTABLE_PROVIDERS, get_provider_info

if TYPE_CHECKING:
    from jpweb.runtime.configuration import WorkspaceConfig
    from jpweb.store.workspace_config.trust import TrustState


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """A configured provider as people may see it: without its key, and its address masked."""

    name: str
    address: str
    key_variable: str
    has_key: bool
    trust_state: TrustState


def list_providers() -> Sequence[str]:
    """Return the provider names that a configuration can choose."""
    return SELECTABLE_PROVIDERS


def list_provider_statuses(workspace_config: WorkspaceConfig) -> list[ProviderStatus]:
    """Return the configured providers and the provider of the chosen model."""
    model_provider = workspace_config.configuration.assistant.model.provider
    names = dict.fromkeys(
        [*([model_provider] if model_provider else []), *workspace_config.configuration.providers]
    )
    statuses = []
    for name in names:
        provider_config = workspace_config.configuration.providers.get(name, ProviderConfig())
        info = get_provider_info(name)
        address = provider_config.base_url or info.base_url
        key_variable = provider_config.api_key_env or info.api_key_env or ""
        statuses.append(
            ProviderStatus(
                name=name,
                address=display.mask_url(address),
                key_variable=key_variable,
                has_key=bool(os.environ.get(key_variable)),
                trust_state=workspace_config.get_trust_state(TrustItemKind.PROVIDER, name),
            )
        )
    return statuses

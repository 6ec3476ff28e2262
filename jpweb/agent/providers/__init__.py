"""The providers by name.

To add one: a file here that defines ``VENDOR``, and a row in ``PROVIDER_INFO``.
"""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.agent.config import ModelConfig, ProviderConfig
from jpweb.agent.ports import Provider
from jpweb.agent.provider_info import SERVED_PROVIDERS
from jpweb.agent.providers.adapter.factory import (
    ProviderFactory,
    collect_key_variables,
    make_factory,
)
from jpweb.agent.providers.scripted import ScriptedProvider

__all__ = ["PROVIDERS", "ProviderFactory", "collect_key_variables"]


def _make_scripted(_model: ModelConfig, _provider: ProviderConfig, _key: str | None) -> Provider:
    return ScriptedProvider()


PROVIDERS: Mapping[str, ProviderFactory] = {
    **{name: make_factory(name) for name in SERVED_PROVIDERS},
    ScriptedProvider.NAME: _make_scripted,
}

"""The providers by name. To add one: a file here, and a line in ``PROVIDERS``."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.agent.ports import Provider
from jpweb.agent.providers.scripted import Scripted

PROVIDERS: Mapping[str, type[Provider]] = {
    Scripted.NAME: Scripted,
}

"""The channel layer as the settings of jpweb's processes have it."""

from __future__ import annotations

import re
from typing import Any

from channels_redis.serializers import registry
from django.conf import settings

_TOKEN = re.compile(r"gAAAA[\w=-]+")


def make_keys(secret_key: str) -> list[str]:
    """Return what processes with this JPWEB_SECRET_KEY seal with."""
    return [f"jpweb channel layer\n{secret_key}"]


#: Those of the process that runs the tests.
KEYS = make_keys(settings.SECRET_KEY)


def channel_layers(url: str) -> dict[str, dict[str, Any]]:
    """Return the setting CHANNEL_LAYERS for a Redis."""
    return {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [url], "symmetric_encryption_keys": KEYS},
        }
    }


def unseal_text(text: str, secret_key: str) -> str:
    """Return a text in which what a key has sealed stands in clear."""
    serializer = registry.get_serializer("msgpack", symmetric_encryption_keys=make_keys(secret_key))
    return _TOKEN.sub(lambda match: repr(serializer.deserialize(match[0].encode())), text)

"""The host of ``PUBLIC_URL``, with which links begin: whether requests to it are served."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import OutputWrapper
from django.http.request import split_domain_port, validate_host


def warn_unless_served(stderr: OutputWrapper) -> None:
    """Write a line where ``JPWEB_HOSTS`` leaves the host out, and no ``JPWEB_URL`` adds it."""
    host, _ = split_domain_port(urlsplit(settings.PUBLIC_URL).netloc)
    if not validate_host(host, settings.ALLOWED_HOSTS):
        stderr.write(
            f"Links begin with {settings.PUBLIC_URL}, and JPWEB_HOSTS does not name {host}, so "
            "they lead to an error. Set JPWEB_URL to the address that people open."
        )

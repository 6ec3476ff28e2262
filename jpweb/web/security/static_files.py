"""Redirects for static files of another version of jpweb.

WhiteNoise serves this version's files before any view. A page of another version may request its
files from this server, which redirects it to its own file of the same name.
"""

from __future__ import annotations

from pathlib import Path

from django.contrib.staticfiles import finders
from django.core.exceptions import SuspiciousFileOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.cache import never_cache

SERVICE_WORKER_NAME = "service-worker.js"


@never_cache
def redirect_to_current(request: HttpRequest, path: str) -> HttpResponse:
    """Redirect to this version's file of the same name.

    Raises Http404 for an unknown name.
    """
    name = path.partition("/")[2]
    current_path = static(name)
    if not name or current_path == request.path or not _is_static_file(name):
        raise Http404(name)
    return HttpResponseRedirect(current_path)


@never_cache
def serve_service_worker(_request: HttpRequest) -> HttpResponse:
    """Send the service worker; at the root, so that it may serve every page."""
    path = finders.find(SERVICE_WORKER_NAME)
    if path is None:
        raise Http404(SERVICE_WORKER_NAME)
    return HttpResponse(Path(path).read_bytes(), content_type="text/javascript; charset=utf-8")


def _is_static_file(name: str) -> bool:
    """Return whether a static folder holds a file of this name; False for names that leave it."""
    try:
        return finders.find(name) is not None
    except SuspiciousFileOperation:  # else Django logs a traceback per request
        return False

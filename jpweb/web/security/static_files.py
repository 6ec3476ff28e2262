"""Static files at the addresses of another version of jpweb.

WhiteNoise serves the present ones before any view. A page of another version may ask this
server for a file: it is redirected to the file of the same name here.
"""

from __future__ import annotations

from django.contrib.staticfiles import finders
from django.core.exceptions import SuspiciousFileOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@require_safe
@never_cache
def redirect_to_current(request: HttpRequest, path: str) -> HttpResponse:
    """Redirect to the file that this server serves under the name behind the version.

    Raises Http404 where there is none.
    """
    name = path.partition("/")[2]
    current = static(name)
    if not name or current == request.path or not _is_static_file(name):
        raise Http404(f"There is no static file {name}.")
    return HttpResponseRedirect(current)


def _is_static_file(name: str) -> bool:
    """Return whether a static folder holds a file of this name; names that leave it are none."""
    try:
        return finders.find(name) is not None
    except SuspiciousFileOperation:  # Django would log a traceback of each such request
        return False

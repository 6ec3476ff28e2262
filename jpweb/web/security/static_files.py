"""Static files at the addresses of another version of jpweb.

WhiteNoise serves the present ones before any view. A page of another version asks a server that
was upgraded since, or not yet: it gets what this server has under that name.
"""

from __future__ import annotations

from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@require_safe
@never_cache
def redirect_to_current(request: HttpRequest, path: str) -> HttpResponse:
    """Redirect to the file that this server serves under the name behind the version.

    Raises Http404 where there is none, and SuspiciousFileOperation for names that lead elsewhere.
    """
    name = path.partition("/")[2]
    current = static(name)
    if not name or current == request.path or finders.find(name) is None:
        raise Http404(f"There is no static file {name}.")
    return HttpResponseRedirect(current)

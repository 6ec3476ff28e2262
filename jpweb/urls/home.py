"""URL patterns of the dashboard, the command palette, search, help and static files."""

from __future__ import annotations

from django.urls import path

from jpweb.web.access import public
from jpweb.web.security import static_files
from jpweb.web.views import home, search
from jpweb.web.views.help import pages as help_pages

urlpatterns = [
    path("", home.show_dashboard, name="home"),
    path("welcome/dismiss", home.dismiss_welcome, name="welcome-dismiss"),
    path("go", home.show_command_palette, name="go"),
    path("search", search.search_conversations, name="search"),
    path("search/save", search.save_search, name="search-save"),
    path("search/forget", search.delete_search, name="search-delete"),
    path(
        static_files.SERVICE_WORKER_NAME,
        public(static_files.serve_service_worker),
        name="service-worker",
    ),
    path("static/<path:path>", public(static_files.redirect_to_current), name="static-file"),
    path("help", help_pages.index, name="help"),
    path("help/<slug:name>", help_pages.page, name="help-page"),
]

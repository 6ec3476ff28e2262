"""URL patterns of all pages, by family; each view declares its access rule."""

from __future__ import annotations

from jpweb.urls import (
    account,
    audit,
    comments,
    conversations,
    home,
    notifications,
    questions,
    reviews,
    workspaces,
)

urlpatterns = [
    *home.urlpatterns,
    *conversations.urlpatterns,
    *comments.urlpatterns,
    *questions.urlpatterns,
    *notifications.urlpatterns,
    *audit.urlpatterns,
    *reviews.urlpatterns,
    *workspaces.urlpatterns,
    *account.urlpatterns,
]

handler404 = "jpweb.web.views.identity.sign_in.page_not_found"
handler403 = "jpweb.web.views.identity.sign_in.permission_denied"

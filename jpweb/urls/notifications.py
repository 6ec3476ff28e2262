"""URL patterns of notifications."""

from __future__ import annotations

from django.urls import path

from jpweb.web.views import notifications

urlpatterns = [
    path("notifications", notifications.list_destinations, name="notifications"),
    path("notifications/add", notifications.add_destination, name="notification-add"),
    path("notifications/test", notifications.send_test, name="notification-test"),
    path("notifications/remove", notifications.remove_destination, name="notification-remove"),
    path("notifications/mentions", notifications.save_mentions, name="notification-mentions"),
    path("notifications/browsers/add", notifications.add_browser, name="push-add"),
    path("notifications/browsers/test", notifications.send_browser_test, name="push-test"),
    path("notifications/browsers/remove", notifications.remove_browser, name="push-remove"),
    path("notifications/waiting", notifications.list_waiting, name="notifications-waiting"),
]

"""Notifications: destinations, browsers, deliveries, answer links and buttons."""

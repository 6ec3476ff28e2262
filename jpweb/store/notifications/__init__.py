"""Notifications: destinations, deliveries, answer links."""

"""Notifications: destinations, deliveries, links that answer."""

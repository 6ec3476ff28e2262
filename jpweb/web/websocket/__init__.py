"""WebSocket of a page: consumer, protocol, limits and batched updates."""

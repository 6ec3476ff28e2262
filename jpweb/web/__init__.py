"""HTTP views and WebSocket consumers, which respond with HTML."""

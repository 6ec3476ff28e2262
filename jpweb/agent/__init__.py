"""Executes one turn: pure asyncio, no Django."""

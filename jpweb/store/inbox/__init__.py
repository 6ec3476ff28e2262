"""Inbox: queues of open questions, presence, receipts, and previous answers."""

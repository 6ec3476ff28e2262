"""Inbox: queues of open questions, their settlement, presence, receipts, previous answers."""

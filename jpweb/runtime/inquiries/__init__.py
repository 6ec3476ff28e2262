"""Inquiries and approvals while they wait: answers, presence, secrets."""

"""Addresses that routes of several families begin with, and the converter ``key`` of their keys."""

from __future__ import annotations

from django.urls import register_converter

from jpweb.web import converters

register_converter(converters.KeyConverter, "key")

APPROVAL = "prompts/<key:approval_id>"
CONVERSATION = "conversations/<key:conversation_id>"
QUESTION = "questions/<key:inquiry_id>"
WORKSPACE = "workspaces/<key:workspace_id>"

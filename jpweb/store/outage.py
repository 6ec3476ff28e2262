"""What the database's absence looks like to those who may not import its errors."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError

DATABASE_GONE = (OperationalError, InterfaceError)

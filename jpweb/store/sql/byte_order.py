"""A text's order by its bytes, as an SQL expression that an index can hold."""

from __future__ import annotations

from typing import Any

from django.db.models import Func, TextField


class ByteOrder(Func):
    """A text in the order of its code points, which is that of SQLite and of Python's ``sorted``.

    PostgreSQL would compare by the rules of the database's language.
    """

    arity = 1
    output_field = TextField()
    template = '%(expressions)s COLLATE "C"'

    def as_sqlite(self, compiler: Any, connection: Any, **extra_context: Any) -> Any:
        """Compile with SQLite's own name of that collation."""
        return self.as_sql(
            compiler, connection, template="%(expressions)s COLLATE BINARY", **extra_context
        )

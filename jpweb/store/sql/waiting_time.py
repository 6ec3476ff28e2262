"""A question's waiting time as an SQL expression that an index can hold."""

from __future__ import annotations

from typing import Any

from django.db.models import BigIntegerField, Func


class WaitingMilliseconds(Func):
    """The milliseconds from the second column's instant to the first's; -1 where one is null.

    Without the null, PostgreSQL and SQLite have the same order.
    """

    arity = 2
    output_field = BigIntegerField()
    template = "COALESCE(CAST(ROUND(EXTRACT(EPOCH FROM (%(expressions)s)) * 1000) AS bigint), -1)"
    arg_joiner = " - "

    def as_sqlite(self, compiler: Any, connection: Any, **extra_context: Any) -> Any:
        """Compile with SQLite's own functions: an index needs those that no connection adds."""
        template = "COALESCE(CAST(ROUND((%(expressions)s) * 86400000.0) AS integer), -1)"
        clone = self.copy()
        clone.set_source_expressions(
            [_JulianDay(expression) for expression in self.get_source_expressions()]
        )
        return clone.as_sql(compiler, connection, template=template, **extra_context)


class _JulianDay(Func):
    function = "julianday"

"""A limit that one test sets is not that of the next one."""

from __future__ import annotations

import pytest

from jpweb.store.inbox import queue
from jpweb.store.models import Inquiry
from jpweb.store.sql.compiled_query import CompiledQuery
from tests.machine.suite.patches import compile_under_patches
from tests.store import making

pytestmark = pytest.mark.django_db


def test_compiled_query_has_a_patched_limit_only_during_the_patch():
    run = making.start_run(making.conversation(making.workspace("Garden")))
    keys = [making.question(run).pk for _ in range(3)]
    query = CompiledQuery(lambda keys: Inquiry.objects.filter(pk__in=keys)[: queue.MAX_INBOX_CARDS])
    assert len(query(keys)) == 3
    with pytest.MonkeyPatch.context() as patch:
        compile_under_patches(patch)
        patch.setattr(queue, "MAX_INBOX_CARDS", 2)
        assert len(query(keys)) == 2
    assert len(query(keys)) == 3


def test_second_patch_is_in_the_compiled_query_too():
    run = making.start_run(making.conversation(making.workspace("Garden")))
    keys = [making.question(run).pk for _ in range(3)]
    query = CompiledQuery(lambda keys: Inquiry.objects.filter(pk__in=keys)[: queue.MAX_INBOX_CARDS])
    with pytest.MonkeyPatch.context() as patch:
        compile_under_patches(patch)
        for limit in (2, 1):
            patch.setattr(queue, "MAX_INBOX_CARDS", limit)
            assert len(query(keys)) == limit

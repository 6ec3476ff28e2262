"""Looks for secrets in new events, behind the journal; pages then mask them."""

from __future__ import annotations

from django.conf import settings

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_background_thread, thread_use
from jpweb.store.suspected_secrets import scanner


async def scan_new_events() -> int:
    """Search every entry that was not searched yet; return the number of steps.

    Each step searches a batch of one conversation, in a pause of other work.
    """
    step_count = 0
    while settings.DETECT_SECRETS:
        await thread_use.wait_until_quiet()
        step = await run_in_background_thread(scanner.scan_next)
        if step is None:
            break
        if step.has_masked:
            await publisher.publish_conversation_changed(step.conversation_id)
            await publisher.publish_questions_changed(step.workspace_id)
        step_count += 1
    return step_count

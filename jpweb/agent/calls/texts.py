"""What the model reads when a tool call ends without the tool's own result.

Each text names the tool or the setting and says whether to try again: nothing else tells the
model, since the recorded reasons carry no such advice.
"""

from __future__ import annotations

from jpweb.agent.calls.routing import RefusalReason
from jpweb.stream import repair
from jpweb.stream.inquiry import CancellationReason

#: A person declined to answer.
INPUT_CANCELLED = "Tool input cancelled by user."

#: A person skipped the call before it ran.
SKIPPED = "Tool skipped by user."

#: A person skipped an earlier call of the tool, and the turn's later ones with it.
SKIPPED_REMEMBERED = "Tool skipped by user (remembered)."

#: A person, or the configuration, kept the result from the model.
WITHHELD = "Result delivery skipped by user."
WITHHELD_BY_CONFIGURATION = "Result delivery skipped by configuration."

#: A person stopped the run while the call had no result.
STOPPED = (
    "The user stopped this tool call on purpose, before it had a result. Do not repeat it as it "
    "was; find out from the user what they want instead."
)

#: The call never got a result, for instance because the process that ran it ended.
INTERRUPTED = repair.INTERRUPTED


def skipped(reason: str) -> str:
    """Return the text for a call that a person skipped, with what they said of it."""
    return f"{SKIPPED.removesuffix('.')}: {reason}" if reason else SKIPPED


def input_cancelled(note: str) -> str:
    """Return the text for a question that a person declined, with what they said of it."""
    return f"{INPUT_CANCELLED.removesuffix('.')}: {note}" if note else INPUT_CANCELLED


def responded(text: str) -> str:
    """Return the text for a call that a person ended with something to say."""
    return f"The user ended this tool call before it had a result, and says:\n\n{text}"


def not_permitted(tool: str) -> str:
    """Return the text for a call that needs a permission which nobody can give."""
    return (
        f"{tool} needs a person's permission, and nobody who could give it is reachable. Do not "
        "retry this tool call in this turn; continue without it or say what you would have done."
    )


def not_delivered(tool: str) -> str:
    """Return the text for a result that a person must see first, where nobody is reachable."""
    return (
        f"{tool} has run, but a person must see its result before you do, and nobody is "
        "reachable. Do not retry this tool call in this turn."
    )


def unavailable(tool: str, why: str) -> str:
    """Return the text for a tool that is configured and cannot be used now."""
    said = why.removesuffix(".")
    return f"The tool {tool} is not available: {said}. Do not call it again until it is offered."


def unknown_tool(tool: str) -> str:
    """Return the text for a tool that does not exist or is not offered."""
    return f"The tool {tool} is not available. Do not call it again until it is offered."


def bad_question_id(tool: str) -> str:
    """Return the text for a question that cannot be put on record."""
    return (
        f"{tool} asked a question whose id is empty or contains a dot. This is a mistake in the "
        "tool. Do not retry; continue without it."
    )


def secret_in_question_id(tool: str) -> str:
    """Return the text for a question whose id repeats a secret that the tool was given."""
    return (
        f"{tool} asked a question whose id repeats a secret. This is a mistake in the tool. Do not "
        "retry; continue without it."
    )


def too_many_questions(tool: str, limit: int) -> str:
    """Return the text for a call that keeps asking."""
    return (
        f"{tool} asked more than {limit} questions in one call and was ended. Do not retry this "
        "tool call in this turn."
    )


def backend_failed(tool: str, question_id: str, why: str) -> str:
    """Return the text for a question that a secondary assistant was to answer."""
    return (
        f"{tool} asked the question “{question_id}”, and a secondary assistant could not answer "
        f"it: {why}. You may retry the tool call or end the turn."
    )


def refused(tool: str, question_id: str, reason: RefusalReason) -> str:
    """Return the text for a question that nothing may answer."""
    match reason:
        case CancellationReason.INVALID_STATIC_ANSWER:
            return (
                f"{tool}: the configured conversation.tools.{tool}.questions.{question_id}.answer "
                "value is not a valid answer to the question. The configuration must be changed; "
                "do not retry."
            )
        case CancellationReason.ASSISTANT_ROUTING_DENIED:
            return (
                f"{tool} requires a human answer and cannot be routed to the assistant. Do not "
                "retry this tool call in this turn."
            )
        case CancellationReason.NO_PROMPT_BACKEND:
            return (
                f"{tool} cannot run because nobody who could answer is reachable. Do not retry "
                "this tool call in this turn; continue without user input or explain what "
                "information is missing."
            )


def unanswered(tool: str, question_id: str, reason: CancellationReason) -> str:
    """Return the text for a question that waited for a person and was closed by something else.

    Where time ran out it says neither yes nor no, so that nobody's silence counts as a word.
    """
    if reason is CancellationReason.EXPIRED:
        return (
            f"Nobody answered the question “{question_id}” of {tool} in time. Nothing has been "
            "decided: nobody agreed, nobody refused, and the call did not go on. Do not act as if "
            "somebody had agreed, and do not retry this tool call in this turn; continue without "
            "what it was to do, and say that the question is still open."
        )
    return (
        f"The question “{question_id}” of {tool} was closed without an answer ({reason}). Do not "
        "retry this tool call in this turn; continue without user input or explain what "
        "information is missing."
    )

"""Messages for the model where a tool call ends without the tool's own result.

Each text names the tool or the setting and says whether to try again, because the recorded
reasons carry no such advice.
"""

from __future__ import annotations

from jpweb.agent.tool_calls.routing import RefusalReason
from jpweb.stream import sanitize
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
INTERRUPTED = sanitize.INTERRUPTED


def describe_skip(reason: str) -> str:
    """Return the text for a call that a person skipped, with their reason."""
    return f"{SKIPPED.removesuffix('.')}: {reason}" if reason else SKIPPED


def describe_cancelled_input(note: str) -> str:
    """Return the text for a question that a person declined, with their note."""
    return f"{INPUT_CANCELLED.removesuffix('.')}: {note}" if note else INPUT_CANCELLED


def describe_response(text: str) -> str:
    """Return the text for a call that a person ended with a response."""
    return f"The user ended this tool call before it had a result, and says:\n\n{text}"


def describe_not_permitted(tool: str) -> str:
    """Return the text for a call that needs a permission while no person is reachable."""
    return (
        f"{tool} needs a person's permission, and no one who could give it is reachable. Do not "
        "retry this tool call in this turn; continue without it or say what you would have done."
    )


def describe_not_delivered(tool: str) -> str:
    """Return the text for a result that needs a person's approval while none is reachable."""
    return (
        f"{tool} has run, but a person must see its result before you do, and no one is "
        "reachable. Do not retry this tool call in this turn."
    )


def describe_unavailable(tool: str, reason: str) -> str:
    """Return the text for a tool that is configured and cannot be used now."""
    sentence = reason.removesuffix(".")
    return (
        f"The tool {tool} is not available: {sentence}. Do not call it again until it is offered."
    )


def describe_unknown_tool(tool: str) -> str:
    """Return the text for a tool that does not exist or is not offered."""
    return f"The tool {tool} is not available. Do not call it again until it is offered."


def describe_bad_id(tool: str) -> str:
    """Return the text for a question whose id cannot be recorded."""
    return (
        f"{tool} asked a question whose id is empty, or contains a dot or NUL. This is a mistake "
        "in the tool. Do not retry; continue without it."
    )


def describe_secret_in_id(tool: str) -> str:
    """Return the text for a question whose id repeats a secret that the tool was given."""
    return (
        f"{tool} asked a question whose id repeats a secret. This is a mistake in the tool. Do not "
        "retry; continue without it."
    )


def describe_ambiguous_options(tool: str) -> str:
    """Return the text for a question with different options that look the same to people."""
    return (
        f"{tool} asked a question with different options that look the same. This is a mistake in "
        "the tool. Do not retry; continue without it."
    )


def describe_too_many(tool: str, limit: int) -> str:
    """Return the text for a call that keeps asking."""
    return (
        f"{tool} asked more than {limit} questions in one call and was ended. Do not retry this "
        "tool call in this turn."
    )


def describe_backend_failure(tool: str, question_id: str, reason: str) -> str:
    """Return the text for a question that a secondary assistant failed to answer."""
    return (
        f"{tool} asked the question “{question_id}”, and a secondary assistant could not answer "
        f"it: {reason}. You may retry the tool call or end the turn."
    )


def describe_refusal(tool: str, question_id: str, reason: RefusalReason) -> str:
    """Return the text for a question that routing refused."""
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
                f"{tool} cannot run because no one who could answer is reachable. Do not retry "
                "this tool call in this turn; continue without user input or explain what "
                "information is missing."
            )


def describe_unanswered(tool: str, question_id: str, reason: CancellationReason) -> str:
    """Return the text for a question that was closed without a person's answer.

    After a timeout it says neither yes nor no, so that silence does not count as a decision.
    """
    if reason is CancellationReason.EXPIRED:
        return (
            f"No one answered the question “{question_id}” of {tool} in time. Nothing has been "
            "decided: no one agreed, no one refused, and the call did not go on. Do not act as if "
            "someone had agreed, and do not retry this tool call in this turn; continue without "
            "what it was to do, and say that the question is still open."
        )
    return (
        f"The question “{question_id}” of {tool} was closed without an answer ({reason}). Do not "
        "retry this tool call in this turn; continue without user input or explain what "
        "information is missing."
    )

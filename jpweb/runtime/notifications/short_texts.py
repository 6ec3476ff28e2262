"""Short texts for messages: sentences that all channels share, and other people's words.

The words are beginnings of questions, names and titles. They are inert.
"""

from __future__ import annotations

import re
import unicodedata

from jpweb.store.choices import ApprovalKind

#: What an approval is about, in email, chats and browsers.
APPROVAL_TEXTS = {
    ApprovalKind.RUN: "A tool call needs your approval.",
    ApprovalKind.DELIVER: "A tool's result needs your approval before the model sees it.",
}
#: In place of a question for a secret, and of one without visible words.
SECRET_TEXT, UNNAMED_QUESTION_TEXT = "A secret is requested.", "A question is waiting."

#: Characters of a question, and of a name or title, in a message.
MAX_QUESTION_CHARS, MAX_NAME_CHARS = 300, 80
#: Positions at which a separator keeps chat programs from making mentions, links and images.
_MARKUP_BOUNDARY = re.compile(r"(?<=[@<])(?=\S)|(?<=\])(?=\()")
_ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
_ZERO_WIDTH_JOINER = "\N{ZERO WIDTH JOINER}"


def cut_question(text: str) -> str:
    """Return the beginning of a question with its line breaks."""
    lines = [strip_invisible(line) for line in text.strip()[: MAX_QUESTION_CHARS * 4].splitlines()]
    full_text = "\n".join(lines).strip()
    is_cut = len(full_text) > MAX_QUESTION_CHARS or len(text.strip()) > MAX_QUESTION_CHARS * 4
    return _break_markup(full_text[:MAX_QUESTION_CHARS] + ("…" if is_cut else ""))


def cut_name(text: str) -> str:
    """Return a name or title on one line, shortened to MAX_NAME_CHARS."""
    return _break_markup(shorten_text(text, MAX_NAME_CHARS))


def shorten_text(text: str, max_chars: int) -> str:
    """Return a text on one line, shortened, without invisible characters."""
    full_text = strip_invisible(text[: max_chars * 4])
    return full_text if len(full_text) <= max_chars else f"{full_text[:max_chars]}…"


def strip_invisible(text: str) -> str:
    """Return a text without invisible and direction-changing characters."""
    visible_chars = (
        char if char == _ZERO_WIDTH_JOINER or unicodedata.category(char)[0] != "C" else " "
        for char in text
    )
    return " ".join("".join(visible_chars).split())


def _break_markup(text: str) -> str:
    return _MARKUP_BOUNDARY.sub(_ZERO_WIDTH_SPACE, text)

"""Names of accounts and workspaces: no hidden characters, and no look-alikes of other names.

``confusable_homoglyphs`` holds Unicode's table of confusable characters (UTS 39).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from jpweb.store import db_text
from jpweb.store.errors import InvalidName

MAX_NAME_CHARACTERS = 150
#: Combining marks on one letter: more of them would cover the letters around it.
MAX_MARKS_PER_LETTER = 2


def check_name(name: str) -> str:
    """Return the name without the space around it. Raises InvalidName with the reason."""
    name = name.strip(" ")
    if not name:
        raise InvalidName("Enter a name.")
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidName(f"A name can have at most {MAX_NAME_CHARACTERS} characters.")
    for character in name:
        if db_text.is_hidden(character):
            raise InvalidName(
                f"The name has an invisible character, U+{ord(character):04X}. Type it by hand."
            )
    if unicodedata.normalize("NFKC", name) != unicodedata.normalize("NFC", name):
        raise InvalidName("The name has letters of another width or style. Use plain letters.")
    if "  " in name or _has_stacked_marks(name):
        raise InvalidName("The name has two spaces or several marks in a row. Use one.")
    if _is_mixed(name):
        raise InvalidName("The name mixes look-alike letters of two scripts. Use one script.")
    return name


def make_skeleton(name: str) -> str:
    """Return a text that is the same for names that look alike: by case, width or letter."""
    folded_name = unicodedata.normalize("NFKC", name).casefold()
    visible_characters = (
        character
        for character in folded_name
        if not db_text.is_hidden(character) and character != " "
    )
    return unicodedata.normalize(
        "NFC", "".join(_make_prototype(character) for character in visible_characters)
    )


def find_lookalike(name: str, other_names: Iterable[str]) -> str | None:
    """Return the first of the other names that looks like this one."""
    skeleton = make_skeleton(name)
    return next(
        (candidate for candidate in other_names if make_skeleton(candidate) == skeleton), None
    )


def index_by_skeleton(names: Iterable[str]) -> dict[str, str]:
    """Return the first of the names that look alike, by their skeleton."""
    names_by_skeleton: dict[str, str] = {}
    for name in names:
        names_by_skeleton.setdefault(make_skeleton(name), name)
    return names_by_skeleton


def check_unlike(name: str, other_names: Iterable[str]) -> None:
    """Raise InvalidName where the name looks like another one."""
    if (lookalike := find_lookalike(name, other_names)) is not None:
        raise InvalidName(f"It looks like “{lookalike}”.")


def _has_stacked_marks(name: str) -> bool:
    marks = 0
    for character in unicodedata.normalize("NFC", name):
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > MAX_MARKS_PER_LETTER:
            return True
    return False


def _is_mixed(name: str) -> bool:
    """Tell whether one word of the name has letters of two scripts, one of which looks Latin."""
    from confusable_homoglyphs import categories  # noqa: PLC0415  1 MB of tables, for few requests

    for word in name.split():
        scripts = {categories.alias(character) for character in word if character.isalpha()}
        pairs = pairwise(sorted(scripts & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}))
        if any(pairs):
            return True
    return False


@lru_cache(4096)
def _make_prototype(character: str) -> str:
    """Return the prototype of the characters that look like this one, a Latin one if possible."""
    from confusable_homoglyphs import categories, confusables  # noqa: PLC0415  as above

    entries = confusables.is_confusable(character, greedy=True) or []
    lookalikes = [
        candidate["c"].casefold() for entry in entries for candidate in entry["homoglyphs"]
    ]
    group = {character, *(candidate for candidate in lookalikes if len(candidate) == 1)}
    latin = [
        candidate
        for candidate in group
        if categories.alias(candidate) == "LATIN" and candidate.isascii()
    ]
    prototype: str = min(
        latin or [candidate for candidate in group if candidate.isascii()] or group
    )
    return prototype

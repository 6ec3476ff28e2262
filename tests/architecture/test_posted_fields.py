"""Forms read what people submit; a view reads a single value that it looks up or compares."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import list_modules, walk_nodes

WEB = Path("jpweb/web")
#: Fields that views read by themselves, by module.
FIELDS_BY_MODULE = {
    # The value of a button.
    "views/annotations/comments.py": {"resolved"},
    "views/notifications.py": {"mentions"},
    "views/transcript_modes/configuration.py": {"action"},
    "views/workspaces/following.py": {"following"},
    "views/workspaces/settings_page.py": {"demo"},
    "views/workspaces/tools.py": {"to", "tool"},
    # A name that is looked up among the person's own, or that the store checks.
    "views/identity/account.py": {"sign_in"},
    "views/identity/single_sign_on.py": {"identity"},
    "views/workspaces/user_local_copies.py": {"jp_id"},
    # A place, which ``converters`` parses: an anchor, an address, an item or a number.
    "review_pages.py": {"queue"},
    "security/sign_in_page.py": {"next"},
    "views/annotations/bookmarks.py": {"anchor", "next"},
    "views/audit/review_queues.py": {"after"},
    "views/conversation_list.py": {"next"},
    "views/conversations.py": {"entry_count"},
    # A service worker's request, whose values are compared with those it was given.
    "views/questions.py": {"answer", "token"},
}


def read_fields(path: Path) -> Iterator[str]:
    """Yield the fields of ``request.POST`` that a module reads."""
    for node in walk_nodes(path):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="POST"), attr="get" | "getlist"),
                args=[ast.Constant(value=str(field)), *_],
            ):
                yield field
            case ast.Subscript(value=ast.Attribute(attr="POST")):
                yield ast.unparse(node.slice)
            case _:
                pass


def test_views_leave_posted_fields_to_forms_but_for_named_ones():
    fields = {
        str(path.relative_to(WEB)): set(read_fields(path))
        for path in list_modules("jpweb")
        if path.is_relative_to(WEB) and not path.is_relative_to(WEB / "forms")
    }
    assert {module: names for module, names in fields.items() if names} == FIELDS_BY_MODULE

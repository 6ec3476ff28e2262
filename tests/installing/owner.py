"""The owner of an installation, who begins turns and answers questions by plain forms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.machine.ports import wait_until
from tests.machine.serving import Server
from tests.machine.visiting import Visitor

_QUESTION = re.compile(r'data-question="(\d+)"[^>]*data-answer-type="(\w+)"')
_ANSWERS = {"boolean": "true", "select": "without a backup", "text": "a.md"}


@dataclass
class Owner:
    """The owner of an installation, signed in by the link that its server has printed."""

    server: Server
    workspace: str = "Demo"
    visitor: Visitor = field(init=False)

    def __post_init__(self) -> None:
        self.sign_in()

    def sign_in(self) -> None:
        self.visitor = Visitor(self.server.url)
        assert self.visitor.sign_in(self.server.link).status == 200

    def begin(self, text: str) -> str:
        """Begin a conversation; return its path."""
        form = self.visitor.get("/conversations/new").text
        (workspace_id,) = re.findall(rf'<option value="(\d+)"[^>]*>{self.workspace}', form)
        reply = self.visitor.post("/conversations/new", "/", workspace=workspace_id, text=text)
        assert reply.status == 200
        return re.sub(r"^http://[^/]+|[?#].*$", "", reply.url)

    def find_question(self, path: str, kind: str) -> str:
        """Wait until a conversation asks a question of a type; return its key."""

        def is_asked() -> bool:
            return any(question_kind == kind for _, question_kind in self._list_questions(path))

        wait_until(is_asked, f"{path} asks a {kind} question")
        return {kind: key for key, kind in self._list_questions(path)}[kind]

    def answer(self, path: str, kind: str, answer: str) -> None:
        key = self.find_question(path, kind)
        reply = self.visitor.post(f"/questions/{key}/answer", path, answer=answer)
        assert reply.status == 200

    def decline(self, path: str, kind: str, note: str = "") -> None:
        key = self.find_question(path, kind)
        reply = self.visitor.post(f"/questions/{key}/decline", path, note=note)
        assert reply.status == 200

    def finish(self, path: str, secret: str) -> None:
        """Answer all questions of the script."""
        for kind, answer in (_ANSWERS | {"secret": secret}).items():
            self.answer(path, kind, answer)
        wait_until(lambda: not self.is_running(path), f"{path} ends")

    def is_running(self, path: str) -> bool:
        page = self.visitor.get(path).text
        return "</span> Running ·" in page or "Queued, waiting for a worker" in page

    def read(self, path: str) -> str:
        """Return a page's text."""
        reply = self.visitor.get(path)
        assert reply.status == 200, (path, reply.status)
        return reply.text

    def _list_questions(self, path: str) -> list[tuple[str, str]]:
        return _QUESTION.findall(self.visitor.get(path).text)

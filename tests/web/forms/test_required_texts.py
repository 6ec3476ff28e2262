"""Texts that a form requires: none is met by characters that show nothing."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.core.exceptions import ValidationError

from jpweb.store.annotations import threads
from jpweb.store.choices import Verdict
from jpweb.store.db_text import has_visible_character
from jpweb.store.errors import CommentRefused
from jpweb.web import forms as form_package
from jpweb.web.forms.fields import TextField
from jpweb.web.forms.verdicts import VerdictForm

INVISIBLE_TEXTS = ("\u200b", "\u3164", "\x00", "\u00a0\u2060", "\u2800 \ufe0f", "\u202e", "\ufeff")


def list_forms() -> list[Any]:
    packages = pkgutil.walk_packages(form_package.__path__, f"{form_package.__name__}.")
    modules = [importlib.import_module(package.name) for package in packages]
    classes = {cls for module in modules for _, cls in inspect.getmembers(module, inspect.isclass)}
    return sorted(
        (cls for cls in classes if issubclass(cls, forms.BaseForm) and hasattr(cls, "base_fields")),
        key=lambda cls: cls.__qualname__,
    )


def iterate_required_texts() -> Iterator[tuple[str, forms.Field]]:
    for form in list_forms():
        for name, field in form.base_fields.items():
            if field.required and isinstance(field, TextField | forms.CharField):
                yield f"{form.__qualname__}.{name}", field


@pytest.mark.parametrize("text", INVISIBLE_TEXTS, ids=ascii)
def test_required_texts_of_forms_need_a_visible_character(text: str):
    fields = dict(iterate_required_texts())
    assert {"DismissalForm.note", "MessageForm.text", "RedactionForm.reason"} <= fields.keys()
    for name, field in fields.items():
        with pytest.raises(ValidationError) as error:
            field.clean(text)
        assert (name, error.value.code) == (name, "required")


@pytest.mark.parametrize("text", INVISIBLE_TEXTS, ids=ascii)
def test_note_of_a_verdict_and_a_comment_need_a_visible_character(text: str):
    form = VerdictForm({"verdict": Verdict.WRONG, "note": text})
    assert "note" in form.errors
    assert "note" not in VerdictForm({"verdict": Verdict.WRONG, "note": f"{text}x"}).errors
    with pytest.raises(CommentRefused, match="Enter a comment"):
        threads._clean_text(text)


@pytest.mark.parametrize("text", ["a", "é", "日", "🍎", "👩\u200d🌾", ".", "\u200b?"])
def test_texts_with_a_visible_character_are_told_apart(text: str):
    assert has_visible_character(text)

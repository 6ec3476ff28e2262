"""Commands of evidence bundles: ``verify_evidence`` and ``import_evidence``."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jpweb.evidence import bundle_verifier
from jpweb.store.ledger import signing
from jpweb.store.models import Conversation
from tests import bundles
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return bundles.copy_bundle(tmp_path)


def run(*arguments: object) -> str:
    output = StringIO()
    call_command(*map(str, arguments), stdout=output)
    return output.getvalue()


def test_verify_evidence_names_the_verified_bundle(bundle: Path):
    assert "No problems in" in run("verify_evidence", bundle)


def test_verify_evidence_names_problems_and_fails(bundle: Path):
    files = bundles.read_files(bundle)
    del files["README.txt"]
    bundles.write_files(bundle, files)
    output = StringIO()
    with pytest.raises(CommandError, match=r"^The bundle has 1 problem\.$"):
        call_command("verify_evidence", str(bundle), stdout=output)
    assert output.getvalue() == "README.txt: it is missing\n"


@pytest.mark.parametrize("command", ["verify_evidence", "import_evidence"])
def test_missing_file_is_named(tmp_path: Path, command: str):
    making.workspace("Target")
    options = ["--workspace", "Target"] if command == "import_evidence" else []
    with pytest.raises(CommandError, match=r"none\.zip cannot be read: No such file"):
        run(command, tmp_path / "none.zip", *options)


def test_import_evidence_says_where_the_conversations_are(bundle: Path):
    workspace = making.workspace("Target")
    output = run("import_evidence", bundle, "--workspace", "Target")
    assert "Imported into Target, read-only: 1 conversation.\n" in output
    assert Conversation.objects.filter(workspace=workspace).count() == 1


def test_import_evidence_imports_the_named_conversations(tmp_path: Path):
    first, second = bundles.make_conversation("A"), bundles.make_conversation("B")
    Conversation.objects.filter(pk=second.pk).update(jp_id=first.jp_id)
    second.refresh_from_db()
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(first, second))
    name = f"jp-c{first.jp_id}"
    options = ["--workspace", making.workspace("Target").name]
    with pytest.raises(CommandError, match=f"{name} and {name}-2 are .*: --conversation {name}"):
        run("import_evidence", path, *options)
    run("import_evidence", path, *options, "--conversation", f"conversations/{name}-2/")
    assert Conversation.objects.get(workspace__name="Target").title == "B"
    options = ["--workspace", making.workspace("Other").name, "--conversation", name]
    run("import_evidence", path, *options)
    assert Conversation.objects.get(workspace__name="Other").title == "A"
    with pytest.raises(CommandError, match=f"no conversation jp-c1. It has: {name}, {name}-2"):
        run("import_evidence", path, *options, "--conversation", "jp-c1")


@pytest.mark.parametrize("command", ["verify_evidence", "import_evidence"])
@pytest.mark.parametrize("is_key_given", [True, False], ids=["key", "no key"])
def test_command_without_a_key_says_to_compare_it(bundle: Path, command: str, is_key_given: bool):
    making.workspace("Target")
    options = ["--workspace", "Target"] if command == "import_evidence" else []
    if is_key_given:
        options += ["--public-key", signing.get_public_key()]
    output = run(command, bundle, *options)
    assert (bundle_verifier.KEY_ADVICE in output) is not is_key_given


def test_import_evidence_refuses_an_unknown_workspace(bundle: Path):
    with pytest.raises(CommandError, match="No workspace has the name “Nowhere”"):
        run("import_evidence", bundle, "--workspace", "Nowhere")

"""Pretends to deploy. Reads its answers from the private file, so that no secret stands in argv."""

import hashlib
import json
import os
import sys
from pathlib import Path

tool = json.loads(sys.argv[1])
answers = json.loads(Path(os.environ["JPWEB_CONTEXT"]).read_text())["tool"]["answers"]


def ask(question):
    print(json.dumps({"type": "needs_input", "question": question}))
    sys.exit()


if "confirm" not in answers:
    ask(
        {
            "id": "confirm",
            "text": f"Deploy {tool['arguments']['service']}?",
            "context": "Three files have changed since the last time.",
            "answer_type": {"type": "boolean"},
            "default": False,
        }
    )
if not answers["confirm"]:
    print(json.dumps({"type": "success", "content": "Not deployed."}))
    sys.exit()
if "passphrase" not in answers:
    ask({"id": "passphrase", "text": "The passphrase?", "answer_type": {"type": "secret"}})
proof = hashlib.sha256(answers["passphrase"].encode()).hexdigest()[:8]
print(json.dumps({"type": "success", "content": f"Deployed with a key whose digest is {proof}."}))

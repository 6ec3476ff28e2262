from __future__ import annotations

import asyncio
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jpweb.agent.config import McpSource, ProviderConfig, ToolCommand, ToolConfig
from jpweb.agent.providers import collect_key_variables
from jpweb.agent.redaction import SecretAnswer
from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success
from jpweb.agent.tools.local import (
    LocalTool,
    ProcessLimits,
    ToolContext,
    format_arguments,
    make_environment,
)
from jpweb.stream.answer_type import Boolean
from tests.agent.tools.local.commands import (
    by_shell,
    has_ended,
    make_config,
    make_python_command,
    make_shell_command,
    refuse_question,
    run_tool,
    wait_for_pids,
    wait_until,
)

CANARY = 'correct-"horse"-battery'
WATCH = """
import json, os, sys, time
path = os.environ["JPWEB_CONTEXT"]
answers = json.load(open(path))["tool"]["answers"]
secret = answers["pass"]
me = f"/proc/{os.getpid()}"
print(json.dumps({
    "file": {key: len(str(value)) if key == "pass" else value for key, value in answers.items()},
    "argv": sys.argv[1],
    "leaks": [name for name in ("cmdline", "environ")
              if secret.encode() in open(f"{me}/{name}", "rb").read()],
    "mode": oct(os.stat(path).st_mode & 0o777),
    "folder": oct(os.stat(os.path.dirname(path)).st_mode & 0o777),
    "path": path,
    "stdin": sys.stdin.read(),
}))
"""


def read_json(path: str) -> tuple[Path, Any]:
    return Path(path), json.loads(Path(path).read_text())


async def test_shell_tool_runs_in_the_workspace_and_answers_as_text(tmp_path):
    command = by_shell("pwd; echo {{ context.workspace_id }}")
    assert await run_tool(command, tmp_path) == Success(f"{tmp_path}\notvo8\n")
    command = by_shell("printf '%s|'", "{{tool.arguments.text}}", "$HOME")
    assert await run_tool(command, tmp_path, {"text": "a 'b' $c"}) == Success("a 'b' $c|$HOME|")


async def test_the_context_is_jps(tmp_path):
    command = make_python_command(
        "import sys; print(sys.argv[1], sys.argv[2])", "{{tool}}", "{{context}}"
    )
    outcome = await run_tool(
        command, tmp_path, {"a": [1, None]}, {"q": True}, options={"o": 1}, access=()
    )
    tool = '{"name":"inner","arguments":{"a":[1,null]},"answers":{"q":true},"options":{"o":1}}'
    context = (
        f'{{"action":"run","root":"{tmp_path}","access":{{"fs":[],"net":[],"env":[]}},"workspace_id":"otvo8",'
        '"conversation_id":"jp-c1"}'
    )
    assert outcome == Success(f"{tool} {context}\n")


async def test_a_tool_asks_and_gets_the_answer_when_it_is_run_again(tmp_path):
    script = """
import json, sys
told = json.loads(sys.argv[1])
if "sure" in told["answers"]:
    print(json.dumps({"type": "success", "content": str(told["answers"]["sure"])}))
else:
    question = {"id": "sure", "text": "Sure?", "answer_type": "Boolean"}
    print(json.dumps({"type": "needs_input", "question": question}))
"""
    command = make_python_command(script, "{{tool}}")
    assert await run_tool(command, tmp_path) == NeedsInput(Question("sure", "Sure?", Boolean()))
    assert await run_tool(command, tmp_path, {}, {"sure": False}) == Success("False")


async def test_secret_answer_reaches_a_local_tool_by_the_private_file_only(tmp_path):
    answers = {"pass": SecretAnswer(CANARY), "sure": True}
    outcome = await run_tool(make_python_command(WATCH, "{{tool}}"), tmp_path, {}, answers)
    assert isinstance(outcome, Success)
    report: dict[str, Any] = json.loads(outcome.content)
    assert report["file"] == {"pass": len(CANARY), "sure": True}
    assert json.loads(report["argv"])["answers"] == {"sure": True}
    assert report["leaks"] == []
    assert (report["mode"], report["folder"], report["stdin"]) == ("0o600", "0o700", "")
    assert not Path(report["path"]).parent.exists()


async def test_answer_too_long_for_an_argument_reaches_the_tool_by_file(tmp_path):
    code = (
        "import json, os, sys; told = json.loads(sys.argv[1])['answers']; "
        "answers = json.load(open(os.environ['JPWEB_CONTEXT']))['tool']['answers']; "
        "print(sorted(told), {key: len(value) for key, value in answers.items()})"
    )
    answers = {"log": "ä" * 50_000, "name": "n" * 60_000, "note": "n" * 60_000}
    outcome = await run_tool(make_python_command(code, "{{tool}}"), tmp_path, {}, answers)
    assert outcome == Success("['name', 'note'] {'log': 50000, 'name': 60000, 'note': 60000}\n")


async def test_local_tool_that_asks_for_an_omitted_answer_again_fails(tmp_path):
    question = '{"id": "log", "text": "Log?", "answer_type": "Text"}'
    command = make_shell_command(
        f"""printf '{{"type": "needs_input", "question": {question}}}'; :""", "{{tool}}"
    )
    outcome = await run_tool(command, tmp_path, {}, {"log": "z" * 140_000})
    assert outcome == Failed(
        "probe asked again for 'log'. The answer was in the file that JPWEB_CONTEXT names alone: "
        "it is too long for an argument, which may have 131,071 bytes. The tool has to read that "
        "file. Retry only if a shorter answer will do."
    )
    outcome = await run_tool(command, tmp_path, {}, {"log": "short"})
    assert isinstance(outcome, NeedsInput)


async def test_arguments_that_are_too_long_for_a_command_say_the_limit(tmp_path):
    command = ToolCommand("true", ("{{tool.arguments.text}}",))
    outcome = await run_tool(command, tmp_path, {"text": "ä" * 70_000}, {"sure": True})
    assert outcome == Failed(
        "probe could not be started: its arguments are too long. The longest has 140,000 bytes; "
        "Linux takes 131,071. Retry only with less, or with a command that reads the file that "
        "JPWEB_CONTEXT names."
    )
    assert await run_tool(command, tmp_path, {"text": "a" * 131_071}) == Success("")


async def test_the_answer_that_the_tool_reads_is_the_one_that_was_given(tmp_path):
    code = (
        "import json, os, sys; answers = json.load(open(os.environ['JPWEB_CONTEXT']))"
        "['tool']['answers']; sys.exit(answers != {'pass': 'correct-\"horse\"-battery'})"
    )
    assert await run_tool(
        make_python_command(code), tmp_path, {}, {"pass": SecretAnswer(CANARY)}
    ) == Success("")


@pytest.mark.parametrize(
    "code",
    [
        "print('it is', secret)",
        "print(json.dumps({'type': 'success', 'content': 'it is ' + secret}))",
        "print(json.dumps({'type': 'error', 'message': secret, 'trace': [secret],"
        " 'transient': True}))",
        "print(secret); print(secret, file=sys.stderr); sys.exit(3)",
    ],
)
async def test_a_secret_that_a_tool_repeats_is_taken_out(tmp_path, code):
    head = (
        "import json, os, sys; secret = json.load(open(os.environ['JPWEB_CONTEXT']))"
        "['tool']['answers']['pass']; "
    )
    outcome = await run_tool(
        make_python_command(head + code), tmp_path, {}, {"pass": SecretAnswer(CANARY)}
    )
    assert "horse" not in repr(outcome)
    assert "[redacted]" in repr(outcome)


async def test_jpwebs_own_settings_are_not_handed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("JPWEB_SECRET_KEY", "k")
    monkeypatch.setenv("DATABASE_URL", "d")
    monkeypatch.setenv("REDIS_URL", "r")
    for name in ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY"):
        monkeypatch.setenv(name, "p")
    monkeypatch.setenv("EDITOR", "ed")
    outcome = await run_tool(
        make_shell_command(
            'echo "$JPWEB_SECRET_KEY$DATABASE_URL$REDIS_URL$EDITOR"'
            '"$PGPASSWORD$PGPASSFILE$PGSERVICE$PGSERVICEFILE$PGSSLKEY"'
        ),
        tmp_path,
    )
    assert outcome == Success("ed\n")


async def test_keys_of_providers_are_not_handed_on(tmp_path, monkeypatch):
    for name in ("OUR_KEY", "ANTHROPIC_API_KEY", "EDITOR"):
        monkeypatch.setenv(name, name)
    place = ToolContext(
        tmp_path,
        "w",
        "c",
        make_environment(collect_key_variables([ProviderConfig(None, "OUR_KEY")])),
    )
    tool = LocalTool(make_config(make_shell_command("env")), place, ProcessLimits(20.0, 0.2))
    outcome = await tool.execute({}, {}, refuse_question)
    assert isinstance(outcome, Success)
    assert "EDITOR=EDITOR\n" in outcome.content
    assert "_KEY" not in outcome.content


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (ToolCommand("no-such-program"), "no-such-program: No such file or directory"),
        (ToolCommand("{{ broken"), "its command is wrong: syntax error"),
        (ToolCommand("{{ no.such }}"), "its command is wrong: undefined value"),
        (
            ToolCommand(
                "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
            ),
            "ran out of fuel",
        ),
        (ToolCommand("true", ("a\0b",)), "embedded null byte"),
    ],
)
async def test_a_command_that_cannot_be_started_says_why(tmp_path, command, message):
    outcome = await run_tool(command, tmp_path)
    assert isinstance(outcome, Failed)
    assert outcome.message.startswith("probe could not be started: ")
    assert message in outcome.message


async def test_local_tool_in_a_missing_folder_names_the_folder(tmp_path):
    outcome = await run_tool(ToolCommand("true"), tmp_path / "away")
    assert outcome == Failed(
        f"probe could not be started: {tmp_path}/away: No such file or directory."
    )


async def test_a_tool_that_takes_too_long_is_ended_with_all_its_children(tmp_path):
    stubborn = make_shell_command(
        "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 60; done' & "
        "echo $$ $! > part; mv part pid; while :; do sleep 60; done"
    )
    outcome = await run_tool(stubborn, tmp_path, limits=ProcessLimits(seconds=4.0, grace=0.1))
    assert outcome == Failed(
        "probe was ended because it had run for 4 seconds. Retry only with less for it to do."
    )
    for pid in await wait_for_pids(tmp_path):
        await wait_until(partial(has_ended, pid))


async def test_a_tool_that_obeys_is_not_killed_before_it_has_put_things_in_order(tmp_path):
    tidy = make_shell_command(
        "trap 'echo tidy > done; exit' TERM; echo $$ > pid; while :; do sleep 0.01; done"
    )
    assert isinstance(await run_tool(tidy, tmp_path, limits=ProcessLimits(4.0, 20.0)), Failed)
    assert (tmp_path / "done").read_text() == "tidy\n"


async def test_a_cancelled_call_leaves_no_process_and_no_file(tmp_path):
    command = make_shell_command(
        'echo "$JPWEB_CONTEXT" > where; sleep 600 & echo $$ $! > part; mv part pid; wait'
    )
    call = asyncio.create_task(run_tool(command, tmp_path, {}, {"pass": SecretAnswer(CANARY)}))
    pids = await wait_for_pids(tmp_path)
    context_file, context = read_json((tmp_path / "where").read_text().strip())
    assert len(pids) == 2
    assert context["tool"]["answers"] == {"pass": CANARY}
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    for pid in pids:
        await wait_until(partial(has_ended, pid))
    assert not context_file.parent.exists()


async def test_a_call_that_is_cancelled_while_it_starts_leaves_no_process(tmp_path):
    """The loop is held up after each of its steps, so that the tool is ahead of it."""
    command = make_shell_command("sleep 600 & echo $$ $! > part; mv part pid; wait")
    call = asyncio.create_task(run_tool(command, tmp_path))
    while not (tmp_path / "pid").exists():
        await asyncio.sleep(0)
        time.sleep(0.05)  # noqa: ASYNC251  the point of it
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, 20)
    for pid in await wait_for_pids(tmp_path):
        await wait_until(partial(has_ended, pid))


async def test_a_second_cancellation_kills_at_once(tmp_path):
    command = make_shell_command(
        "trap 'echo $$ > told' TERM; echo $$ > part; mv part pid; while :; do sleep 0.01; done"
    )
    limits = ProcessLimits(seconds=60.0, grace=60.0)
    call = asyncio.create_task(run_tool(command, tmp_path, limits=limits))
    (pid,) = await wait_for_pids(tmp_path)
    call.cancel()
    await wait_until((tmp_path / "told").exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await wait_until(lambda: has_ended(pid))


async def test_endless_output_is_cut_and_the_tool_ended(tmp_path):
    command = make_shell_command("echo $$ > part; mv part pid; exec yes")
    outcome = await run_tool(command, tmp_path, limits=ProcessLimits(60.0, 0.1, stdout=1000))
    assert outcome == Failed(
        "probe was ended because its output is longer than 1000 bytes. "
        "Retry only in a way that returns less."
    )
    (pid,) = await wait_for_pids(tmp_path)
    await wait_until(lambda: has_ended(pid))


async def test_local_tool_failure_has_the_end_of_stderr(tmp_path):
    code = "import sys; sys.stderr.write('a' * 100000 + 'end'); sys.exit(1)"
    outcome = await run_tool(
        make_python_command(code), tmp_path, limits=ProcessLimits(60.0, 5.0, stderr=5)
    )
    assert isinstance(outcome, Failed)
    assert json.loads(outcome.message)["stderr"] == "aaend"


@pytest.mark.parametrize("stderr_limit", range(3, 60, 7))
async def test_local_tool_stderr_cut_inside_a_secret_leaves_no_part(tmp_path, stderr_limit):
    code = (
        "import json, os, sys; answer = json.load(open(os.environ['JPWEB_CONTEXT']))"
        "['tool']['answers']['pass']; sys.stderr.write('a' * 100 + answer + 'end'); sys.exit(1)"
    )
    secret = "0123456789ö" * 4
    outcome = await run_tool(
        make_python_command(code),
        tmp_path,
        {},
        {"pass": SecretAnswer(secret)},
        limits=ProcessLimits(60.0, 5.0, stderr=stderr_limit),
    )
    assert isinstance(outcome, Failed)
    stderr = json.loads(outcome.message)["stderr"]
    assert stderr.replace("[redacted]", "").strip("a") == "end"


async def test_local_tool_with_a_background_process_returns_its_result(tmp_path):
    command = make_shell_command("sleep 600 & echo $! > part; mv part pid; echo done")
    assert await run_tool(command, tmp_path, limits=ProcessLimits(60.0, 0.1)) == Success("done\n")
    (pid,) = await wait_for_pids(tmp_path)
    assert not has_ended(pid)
    os.kill(pid, 9)


async def test_a_formatter_shows_the_arguments(tmp_path):
    place = ToolContext(tmp_path, "otvo8", "jp-c1")
    formatter = ToolCommand("echo", ("{{context.action}}", "{{tool.name}}", "{{tool.arguments.a}}"))
    plain = ToolConfig("probe", "", {}, source=McpSource("s", "t"))
    with_one = ToolConfig("probe", "", {}, source=McpSource("s", "t"), formatter=formatter)
    assert await format_arguments(plain, place, {"a": 1}) is None
    assert await format_arguments(with_one, place, {"a": 1}) == "format_arguments probe 1\n"


@pytest.mark.parametrize(
    "formatter", [ToolCommand("false"), ToolCommand("no-such-program"), ToolCommand("{{ broken")]
)
async def test_a_formatter_that_fails_shows_nothing(tmp_path, formatter):
    tool = make_config(ToolCommand("true"), formatter=formatter)
    assert await format_arguments(tool, ToolContext(tmp_path, "w", "c"), {}) is None


async def test_a_formatter_that_takes_too_long_shows_nothing(tmp_path):
    tool = make_config(ToolCommand("true"), formatter=ToolCommand("sleep", ("60",)))
    assert (
        await format_arguments(tool, ToolContext(tmp_path, "w", "c"), {}, ProcessLimits(0.1, 0.1))
        is None
    )


def test_local_tool_refuses_a_config_of_another_source(tmp_path):
    with pytest.raises(TypeError, match="probe is not a local tool"):
        LocalTool(ToolConfig("probe", "", {}), ToolContext(tmp_path, "w", "c"))

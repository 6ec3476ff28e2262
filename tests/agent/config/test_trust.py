from __future__ import annotations

import pytest

from jpweb.agent.config.trust import (
    DiffLine,
    TrustItem,
    cut_hidden_fingerprint,
    diff_texts,
    extract_key_variables,
    list_trust_items,
    make_definition,
)
from tests.agent.config.making import LOCAL, read_configuration, read_tool_config
from tests.machine.sizes import choose_size
from tests.machine.suite.growth import MAX_LINEAR_GROWTH, measure_growth


def things(*texts: str) -> dict[tuple[str, str], TrustItem]:
    return {
        (item.kind.value, item.name): item for item in list_trust_items(read_configuration(*texts))
    }


def read_single_item(text: str) -> TrustItem:
    items = things(text)
    assert len(items) == 1
    return next(iter(items.values()))


def local(entry: str) -> TrustItem:
    return read_single_item(f'[conversation.tools.t]\nsource = "local"\n{entry}')


def server(entry: str) -> TrustItem:
    return read_single_item(f"[providers.mcp.s]\n{entry}")


def test_a_server_is_shown_with_how_it_may_start_where_that_is_unusual():
    command = 'command = "serve"\n'
    start = "optional = true\nstartup_timeout_secs = "
    assert server(f"{command}optional = false\nstartup_timeout_secs = 60").runs == "program: serve"
    assert server(f"{command}{start}9").runs.splitlines()[1:] == [
        "optional: a turn goes on without it", "time to start: 9 seconds"
    ]  # fmt: skip
    assert server(f"{command}{start}0").runs.splitlines()[-1] == "time to start: no limit"


def test_built_in_tools_need_no_trust():
    assert things("") == {}


def test_a_command_is_shown_with_each_argument_on_its_own_line():
    assert local("command = \"just serve {{context}} 'a b'\"").runs == (
        "program: just\nargument 1: serve\nargument 2: {{context}}\nargument 3: a b"
    )


def test_trust_text_escapes_misleading_characters():
    text = local(
        r'command = {program = "sh", args = ["a\nb", "\u202eevil", " x ", "", "\"q"], shell = true}'
    ).runs
    assert text.splitlines() == [
        "program: sh",
        r"argument 1: a\nb",
        r"argument 2: \u202eevil",
        'argument 3: " x "',
        'argument 4: ""',
        'argument 5: ""q"',
        "through a shell: yes: sh -c",
    ]


PLAIN = 'command = {program = "p", args = ["a"]}'


@pytest.mark.parametrize(
    "toml",
    [
        'command = {program = "q", args = ["a"]}',
        'command = {program = "p", args = ["b"]}',
        'command = {program = "p", args = ["a", ""]}',
        'command = {program = "p a"}',
        'command = {program = "p", args = ["a"], shell = true}',
        f"{PLAIN}\noptions = {{x = 1}}",
        f'{PLAIN}\naccess = {{fs = [{{path = "/"}}]}}',
    ],
)
def test_trust_item_changes_with_any_part_of_a_command(toml: str):
    before, after = local(PLAIN), local(toml)
    assert before.fingerprint != after.fingerprint
    assert before.display_text != after.display_text


def test_trust_item_includes_the_name_passed_to_the_command():
    item = read_single_item(f'[conversation.tools.t]\nsource = "local.other"\n{PLAIN}')
    assert "called with the name: other" in item.display_text
    assert item.fingerprint != local(PLAIN).fingerprint


def test_trust_item_ignores_values_that_run_and_permit_nothing():
    before = local(PLAIN)
    assert before == local(f'{PLAIN}\ndescription = "x"\nenable = false')
    label = '[conversation.tools.t.questions.q]\nprompt_label = "x"'
    assert before == local(f"{PLAIN}\n{label}")
    toml = 'run = "ask"\nresult = "unattended"\ndetached = "wait"'
    assert before == local(f"{PLAIN}\n{toml}")
    assert before.display_text == local('command = "p a"').display_text
    assert before.fingerprint == local('command = "p a"').fingerprint


def test_the_formatter_of_any_tool_needs_trust_of_its_own():
    items = things(f'[conversation.tools.t]\n{LOCAL}style.parameters = "fmt {{{{tool}}}}"')
    assert items["formatter", "t"].runs == "program: fmt\nargument 1: {{tool}}"
    assert ("tool", "t") in items
    assert ("formatter", "ask_user") in things(
        '[conversation.tools.ask_user]\nstyle.parameters = {program = "x", args = []}'
    )


STDIO = 'command = "srv"\narguments = ["a"]\nvariables = ["TOKEN"]\n'
SUM = f'checksum = {{algorithm = "sha256", value = "{"ab" * 32}"}}'


def test_a_server_is_shown_as_it_would_run():
    assert server(STDIO + SUM).runs == (
        "program: srv\nargument 1: a\ngets environment variable: TOKEN\n"
        f"SHA-256 of the program: {'ab' * 32}"
    )


def test_a_checksum_is_shown_with_its_algorithm():
    checksum = f'checksum = {{algorithm = "sha1", value = "{"ab" * 20}"}}'
    assert server(STDIO + checksum).runs.splitlines()[-1] == (f"SHA-1 of the program: {'ab' * 20}")


@pytest.mark.parametrize(
    "toml",
    [
        STDIO.replace("srv", "srv2") + SUM,
        STDIO.replace('"a"', '"b"') + SUM,
        STDIO.replace("TOKEN", "SECRET") + SUM,
        STDIO + SUM.replace("ab", "cd"),
        STDIO,
        'url = "https://x"',
    ],
)
def test_trust_item_changes_with_any_part_of_a_server(toml: str):
    before, after = server(STDIO + SUM), server(toml)
    assert before.fingerprint != after.fingerprint
    assert before.display_text != after.display_text


WEB = 'url = "https://me:s3cret@x/mcp?key=s3cret"\nheaders = {Authorization = "Bearer s3cret"}'


@pytest.mark.parametrize(
    "toml",
    [
        WEB.replace("Bearer s3cret", "Bearer other"),
        WEB.replace("?key=s3cret", "?key=other"),
        WEB.replace("me:s3cret@", "me:other@"),
    ],
)
def test_trust_shows_no_key_nor_its_hash_but_that_it_changed(toml: str):
    before, after = server(WEB), server(toml)
    assert before.runs == "address: https://…@x/mcp?…\nheader Authorization: (set, not shown)"
    assert before.display_text == after.display_text
    assert before.fingerprint != after.fingerprint
    assert cut_hidden_fingerprint(before.fingerprint) != cut_hidden_fingerprint(after.fingerprint)
    evil_item = server(WEB.replace("@x/", "@evil/"))
    assert evil_item.display_text != before.display_text


def test_trust_fingerprint_of_hidden_values_ignores_shown_values():
    before, after = server(STDIO), server(STDIO.replace("srv", "other"))
    assert cut_hidden_fingerprint(before.fingerprint) == cut_hidden_fingerprint(after.fingerprint)


@pytest.mark.parametrize(
    "usual",
    [
        "[providers.llm.anthropic]",
        '[providers.llm.anthropic]\nbase_url = "https://api.anthropic.com/"',
        '[providers.llm.openai]\napi_key_env = "OPENAI_API_KEY"\napp_name = "x"',
        '[providers.llm.ollama]\nbase_url = "http://localhost:11434"',
    ],
)
def test_a_provider_as_it_is_by_itself_needs_no_trust(usual: str):
    assert things(usual) == {}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            'anthropic]\nbase_url = "https://evil.example"',
            ("https://evil.example", "ANTHROPIC_API_KEY"),
        ),
        ('anthropic]\napi_key_env = "AWS_SECRET"', ("https://api.anthropic.com", "AWS_SECRET")),
        ('own]\nbase_url = "https://x"', ("https://x", "none")),
        ('own]\napi_key_env = "K"', ("the default address", "K")),
        ('own]\nbase_url = "https://u:p@x/y?k=1#f"', ("https://…@x/y?…", "none")),
    ],
)
def test_trust_item_of_a_provider_names_its_address_and_key_variable(
    entry: str, expected: tuple[str, str]
):
    item = read_single_item(f"[providers.llm.{entry}")
    assert item.runs == (
        f"requests and key go to: {expected[0]}\nkey from environment variable: {expected[1]}"
    )
    assert extract_key_variables(item.display_text) == [expected[1]]


def test_trust_of_equal_tools_is_separate():
    items = things(f"[conversation.tools.a]\n{LOCAL}[conversation.tools.b]\n{LOCAL}")
    assert items["tool", "a"].display_text == items["tool", "b"].display_text
    assert items["tool", "a"].fingerprint != items["tool", "b"].fingerprint


def test_a_difference_names_the_lines_that_went_and_came():
    assert diff_texts("a\nb\nc", "a\nx\nc\nd") == [
        DiffLine("same", "a"),
        DiffLine("removed", "b"),
        DiffLine("added", "x"),
        DiffLine("same", "c"),
        DiffLine("added", "d"),
    ]
    assert diff_texts("a", "a") == [DiffLine("same", "a")]
    assert diff_texts("a\n\nb", "x\n\nb") == [DiffLine("removed", "a"), DiffLine("added", "x")]
    assert diff_texts("a\n\nb", "a\n\nb\nc") == [
        DiffLine("same", "a"),
        DiffLine("same", "b"),
        DiffLine("added", "c"),
    ]
    assert diff_texts("a", "a", has_hidden_change=True)[1:] == [
        DiffLine("added", "(a value that is not shown has changed)")
    ]


@pytest.mark.parametrize(
    "toml",
    [
        "options.depth = 2",
        'access.fs = [{path = "a", read = true}]',
        'parameters.p = {type = "string", default = "b"}',
    ],
)
def test_definition_of_a_tool_that_would_run_otherwise_differs(toml: str):
    before = read_tool_config(
        f'{LOCAL}options.depth = 1\nparameters.p = {{type = "string", default = "a"}}'
    )
    after = read_tool_config(
        f'{LOCAL}options.depth = 1\nparameters.p = {{type = "string", default = "a"}}', toml
    )
    assert make_definition(before, None) != make_definition(after, None)


def test_definition_of_a_served_tool_holds_its_server():
    served = read_tool_config('source = "mcp.s"\n')
    servers = [
        read_configuration(f'providers.mcp.s = {{command = "{name}"}}').servers["s"]
        for name in ("a", "b")
    ]
    first, second = (make_definition(served, config) for config in servers)
    assert first != second


@pytest.mark.parametrize(
    ("source", "kind"), [("builtin", "Builtin"), ("local", "Local"), ("mcp.s", "Mcp")]
)
def test_definition_names_a_source_as_saved_hashes_of_it_do(source: str, kind: str):
    tool = read_tool_config(f'source = "{source}"\ncommand = "true"', name="ask_user")
    assert f'"source": ["{kind}", {{' in make_definition(tool, None)


def make_servers(count: int) -> str:
    """Return a configuration with many servers, each of which has one tool."""
    return "".join(
        f'providers.mcp.s{number}.command = "a"\n'
        f'conversation.tools.t{number}.source = "mcp.s{number}"\n'
        for number in range(count)
    )


def make_parameters(count: int) -> str:
    """Return a configuration with one tool, which has many parameters."""
    parameters = "".join(
        f'p{number} = {{type = "string", required = true}}\n' for number in range(count)
    )
    return f"[conversation.tools.t]\n{LOCAL}[conversation.tools.t.parameters]\n{parameters}"


@pytest.mark.parametrize(
    ("make_text", "size"),
    [(make_servers, choose_size(200, 500)), (make_parameters, choose_size(600, 1_500))],
    ids=["servers", "names"],
)
def test_trust_items_take_linear_time(make_text, size: int):
    growth = measure_growth(
        list_trust_items, *(read_configuration(make_text(n * size)) for n in (1, 4))
    )
    assert growth < MAX_LINEAR_GROWTH

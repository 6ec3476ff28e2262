"""Parsing in a process of its own: what it costs is bounded, and it is paid once."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files.config import size_limits, toml_parser, toml_process
from jpweb.store.jp_files.config.toml_parser import ConfigText, parse_texts, parse_toml
from tests.machine import programs
from tests.machine.ports import wait_until
from tests.machine.sizes import mark_proof


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with nothing remembered."""
    monkeypatch.setattr(toml_parser, "_cache", toml_parser._ResultCache())


@pytest.fixture
def parser_inputs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every process that was started to parse."""
    real, orders = subprocess.run, []

    def run(*words: Any, **options: Any) -> Any:
        orders.append(options["input"])
        return real(*words, **options)

    monkeypatch.setattr(subprocess, "run", run)
    return orders


def get_refusal(text: str, suffix: str = ".toml") -> str:
    with pytest.raises(InvalidConfigFile) as error:
        parse_texts([ConfigText("x", suffix, text)])
    return str(error.value)


def test_parse_the_same_content_starts_one_process(parser_inputs: list[Any]):
    first = parse_toml("one", "a = [1, 2.5, true, 2026-01-02, 03:04:05, 2026-01-02T03:04:05Z]")
    first["a"].append("changed")
    values = parse_toml("two", "a = [1, 2.5, true, 2026-01-02, 03:04:05, 2026-01-02T03:04:05Z]")
    assert values["a"][:5] == [1, 2.5, True, "2026-01-02", "03:04:05"]
    assert datetime.fromisoformat(values["a"][5]).year == 2026
    assert len(parser_inputs) == 1


def test_parse_a_problem_is_remembered_and_names_each_file(parser_inputs: list[Any]):
    for name in ("one", "two"):
        with pytest.raises(InvalidConfigFile, match=f"^{name}: not TOML: .*line 2"):
            parse_toml(name, "a = 1\nb = = 2")
    assert len(parser_inputs) == 1


@pytest.mark.parametrize(
    ("limit", "value"), [("MAX_MEMORY_BYTES", 48 << 20), *mark_proof(("MAX_CPU_SECONDS", 1))]
)
def test_parse_texts_refuses_a_costly_text_once(
    parser_inputs: list[Any], monkeypatch: pytest.MonkeyPatch, limit: str, value: int
):
    monkeypatch.setattr(toml_parser, limit, value)
    monkeypatch.setattr(size_limits, "check_depth", lambda *_: None)
    bomb = ConfigText("bomb", ".toml", "a" + ".a" * 20_000 + " = 1")
    for _ in range(2):
        with pytest.raises(InvalidConfigFile, match=r"^bomb: it takes more than"):
            parse_texts(
                [ConfigText("good", ".toml", "a = 1"), bomb, ConfigText("behind", ".toml", "b = 1")]
            )
    assert parse_toml("good", "a = 1") == {"a": 1}
    assert len(parser_inputs) == 2


def test_parser_process_limits_its_memory_and_processor_time(
    parser_inputs: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Using a second of processor time up takes one; tests at full size do."""
    parse_toml("x", "a = 1")
    (job,) = parser_inputs
    limits: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    monkeypatch.setattr(os, "nice", lambda _increment: 0)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "stdin", StringIO(job.decode()))
    toml_process.main()
    assert capsys.readouterr().out == '{"values": {"a": 1}, "count": 1}\n'
    assert limits == {
        resource.RLIMIT_AS: (toml_parser.MAX_MEMORY_BYTES,) * 2,
        resource.RLIMIT_CPU: (toml_parser.MAX_CPU_SECONDS,) * 2,
    }


def test_parse_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch):
    def hang(*words: Any, **options: Any) -> Any:
        raise subprocess.TimeoutExpired("parser", 1, output=b'{"values": {"a": 1}}\n{"val')

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(InvalidConfigFile, match=r"^bomb: it takes more than"):
        parse_texts([ConfigText("good", ".toml", "a = 1"), ConfigText("bomb", ".toml", "b = 1")])


def test_parse_without_room_for_a_process_is_refused(monkeypatch: pytest.MonkeyPatch):
    def refuse(*words: Any, **options: Any) -> Any:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "run", refuse)
    assert get_refusal("a = 1") == (
        "The configuration cannot be parsed now: Resource temporarily unavailable."
    )


def test_parse_forgets_the_oldest_results(
    parser_inputs: list[Any], monkeypatch: pytest.MonkeyPatch
):
    text_and_line = 'a = 1{"values": {"a": 1}, "count": 1}\n'
    monkeypatch.setattr(toml_parser, "MAX_CACHED_BYTES", 2 * len(text_and_line))
    for text in ("a = 1", "b = 1", "a = 1", "c = 1", "a = 1", "b = 1"):
        parse_toml("x", text)
    assert len(parser_inputs) == 4


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 65 + " = 1",
        "a" + " . 'a'" * 65 + " = 1",
        "[" + "a." * 65 + "a]",
        "a = " + "[" * 65,
        "a = " + "{a = " * 65,
        'x = """\n""" \n' + "a" + ".a" * 65 + " = 1",
        "x = '''''' \n" + "a" + ".a" * 65 + " = 1",
        'x = "\\"" # "\n' + "a" + ".a" * 65 + " = 1",
    ],
)
def test_check_depth_refuses_deep_nesting(text: str):
    with pytest.raises(
        InvalidConfigFile, match=r"^x: nested too deep to be read; 64 levels are the most"
    ):
        size_limits.check_depth("x", text)


@pytest.mark.parametrize(
    "text",
    [
        "a = '" + "." * 100 + "'",
        "a = '''" + "[" * 100 + "'''",
        'a = """' + '[.\\"""' * 100 + '"""""',
        'a = "' + '\\"[' * 100 + '"',
        "# " + "[." * 100,
        "a = [" + "1.5, " * 100 + "]",
        "[a.b]\n" * 100,
        "a = {b = [1]}\n" * 100,
    ],
)
def test_check_depth_accepts_shallow_text_with_many_brackets(text: str):
    size_limits.check_depth("x", text)


@given(st.text(alphabet="\"'\\\n#[a", max_size=40))
@example('\\"""\n' * 20)
@example('"' + '\\"' * 20)
@example('"""\\')
@example("'''a")
def test_strip_tokens_scans_no_string_twice(text: str):
    """A quotation mark that is left is one from which a string was looked for in vain."""
    assert set(size_limits.strip_tokens(text)).isdisjoint("\"'")


@pytest.mark.parametrize(
    "text", ['\\"""\n' * 50_000, '"' + '\\"' * 120_000], ids=["lines", "escapes"]
)
def test_unterminated_strings_are_refused_by_the_parser(text: str):
    assert get_refusal(text).startswith("x: not TOML: ")


def test_parse_all_bounds_the_values_of_all_files(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(size_limits, "MAX_TOTAL_VALUES", 3)
    texts = [ConfigText(name, ".toml", f"{name} = [1]") for name in "ab"]
    assert len(parse_texts(texts[:1])) == 1
    with pytest.raises(
        InvalidConfigFile, match=r"^The configuration has more than 3 keys and items"
    ):
        parse_texts(texts)


def test_parser_leaves_the_processor_to_others():
    niceness = programs.compute_niceness(5)
    command = [sys.executable, "-I", "-S", toml_process.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        wait_until(
            lambda: os.getpriority(os.PRIO_PROCESS, process.pid) == niceness,
            "the parser is nicer than those who wait for it",
        )
        limits = {"bytes": 1 << 29, "seconds": 5}
        process.communicate(
            json.dumps({"packages": "", "limits": limits, "texts": []}).encode(), 20
        )
    assert process.returncode == 0


def test_parser_measures_every_level():
    assert toml_process.check_limits({"a": [{"b": 1}, 2]}, 3, 4) == ("", 4)
    assert toml_process.check_limits({"a": [{"b": 1}, 2]}, 3, 3)[0].startswith("it has more than 3")
    assert toml_process.check_limits({"a": [{"b": 1}, 2]}, 1, 4)[0].startswith("nested too deep")


def test_parser_counts_characters_of_keys_texts_and_numbers():
    assert toml_process.count_characters({"ab": ["cde", 8**4, True, None, 1.5], "f": ("g",)}) == 11


def test_parser_refuses_many_values_before_it_gathers_them():
    class Large(list[int]):
        """A list that says how long it is, and is not read."""

        def __len__(self) -> int:
            return 10**9

        def __iter__(self) -> Iterator[int]:
            raise AssertionError

    problem, count = toml_process.check_limits({"a": Large()}, 9, 9)
    assert (problem, count) == ("it has more than 9 keys and items.", 10**9 + 1)


def test_parser_reads_both_kinds():
    assert toml_process.parse_text(".toml", "a = 1", 9, 9) == {"values": {"a": 1}, "count": 1}
    assert toml_process.parse_text(".json", '{"a": 1}', 9, 9) == {"values": {"a": 1}, "count": 1}
    assert toml_process.parse_text(".json", "[1]", 9, 9) == {"problem": "it is not a JSON object."}
    assert toml_process.parse_text(".json", "[" * 100_000, 9, 9)["problem"].startswith(
        "nested too deep"
    )
    assert toml_process.parse_text(".toml", "a", 9, 9)["problem"].startswith("not TOML: ")
    assert get_refusal("[1, 2", ".json").startswith("x: not JSON: ")

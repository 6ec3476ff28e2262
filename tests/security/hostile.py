"""Workspaces that lead out, never end or cost too much, as anybody can make one."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from jpweb.stream.events import ChatResponse
from tests.builders import stream
from tests.store.making import write_folder

FIRST = 17_000_000_000
GOOD = f"{FIRST}-good"
SECRET = "outside-of-the-workspace"
ONE = stream(ChatResponse("message", "One"))


def make_outside(root: Path) -> Path:
    """Make what no workspace leads to; all of it holds ``SECRET``."""
    write_folder(root / "other", f"{FIRST}-{SECRET}", stream(ChatResponse("message", SECRET)))
    conversations = root / "other" / ".jp" / "conversations"
    (root / "archive").mkdir()
    (root / "locks").mkdir()
    (conversations / f"{FIRST}-{SECRET}").rename(root / "conversation")
    write_folder(root, "unused", None)
    (root / ".jp" / "conversations" / "unused").rename(root / "archive" / f"{FIRST + 77}-{SECRET}")
    (root / "secret.toml").write_text(f'[conversation.tools.{SECRET}]\nenable = "on"\n')
    (root / "x.toml").write_text("a = 1\n")
    (root / "id").write_text("ab1z9\n")
    (root / "lock").write_text("{}")
    (root / "precious").write_text(SECRET)
    return root


def make_entries(root: Path, outside_folder: Path) -> dict[str, str]:
    """Fill a workspace with a good conversation and with bad ones; returns what is said of each."""
    write_folder(root, GOOD, ONE)
    problems: dict[str, str] = {}
    for number, (name, (make, problem)) in enumerate(_entries(outside_folder).items(), 1):
        entry = write_folder(root, f"{FIRST + number}-{name}", ONE)
        make(entry)
        problems[entry.name] = problem
    (root / ".jp" / "conversations" / ".archive").symlink_to(outside_folder / "archive")
    return problems | {".archive": "it is a symbolic link, and jpweb follows none"}


def _entries(outside_folder: Path) -> Mapping[str, tuple[Callable[[Path], None], str]]:
    link = "it is a symbolic link, and jpweb follows none"
    kind = "it is not a regular file"
    events, about = "events.json", "metadata.json"
    targets = {
        "linked": outside_folder / "conversation" / events,
        "zero": Path("/dev/zero"),
        "circle": Path(events),
        "inside": Path("..") / GOOD / events,
    }
    entries: dict[str, tuple[Callable[[Path], None], str]] = {
        name: (_linking(events, target), f"{events}: {link}") for name, target in targets.items()
    }
    entries["about"] = _linking(about, outside_folder / "conversation" / about), f"{about}: {link}"
    entries["fifo"] = _replacing(events, os.mkfifo), f"{events}: {kind}"
    entries["about-fifo"] = _replacing(about, os.mkfifo), f"{about}: {kind}"
    entries["socket"] = _replacing(events, _bind), f"{events}: {kind}"
    entries["directory"] = (
        _replacing(events, Path.mkdir),
        f"{events}: it is a directory, not a file",
    )
    entries["large"] = _replacing(events, _enlarge), f"{events}: it is larger than 256 MiB"
    entries["about-large"] = _replacing(about, _enlarge), f"{about}: it is larger than 1 MiB"
    entries["whole"] = _linked_whole(outside_folder / "conversation"), link
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        entries["device"] = _replacing(events, _make_device), f"{events}: {kind}"
    return entries


def _linking(name: str, target: Path) -> Callable[[Path], None]:
    return _replacing(name, lambda path: path.symlink_to(target))


def _replacing(name: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
    def replace(entry: Path) -> None:
        (entry / name).unlink()
        make(entry / name)

    return replace


def _linked_whole(target: Path) -> Callable[[Path], None]:
    def link(entry: Path) -> None:
        for path in entry.iterdir():
            path.unlink()
        entry.rmdir()
        entry.symlink_to(target)

    return link


def _bind(path: Path) -> None:
    previous_folder = Path.cwd()
    os.chdir(path.parent)  # an address has 108 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(previous_folder)


def _enlarge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def _make_device(path: Path) -> None:
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))


#: Configurations that are valid: reading and loading them costs little all the same.
VALID_CONFIGURATIONS = frozenset({"lists without duplicates", "chain of aliases"})


def make_configurations(outside_folder: Path) -> Mapping[str, Callable[[Path], None]]:
    """Return what gives a ``.jp`` a configuration that is refused or costly, by its name."""

    def write(text: str, name: str = "config.toml") -> Callable[[Path], None]:
        def write_into(home: Path) -> None:
            (home / name).write_text(text)

        return write_into

    def link_folder(home: Path) -> None:
        (home / "linked").symlink_to(outside_folder)
        (home / "config.toml").write_text('extends = ["linked/*.toml"]')

    return {
        "lists without duplicates": _layer_lists,
        "repeated file": _repeat_file,
        "chain of aliases": write(
            "[providers.llm.aliases]\n" + "".join(f'a{n} = "a{n + 1}"\n' for n in range(10_000))
        ),
        "dotted key": write("a" + ".a" * 20_000 + " = 1"),
        "table": write("[" + "a." * 20_000 + "a]"),
        "arrays": write("a = " + "[" * 50_000),
        "inline tables": write("a = " + "{a = " * 20_000),
        "values": write("a = [" + "1," * 100_000 + "]"),
        "unterminated strings": write('\\"""\n' * 50_000),
        "unterminated escapes": write('"' + '\\"' * 120_000),
        "size": write("#" * (1 << 20)),
        "patterns": write(f"extends = {json.dumps(['**/*'] * 20_000)}"),
        "nested globs": write(f"extends = {json.dumps(['/'.join(['**', '*'] * 200)])}"),
        "json": write('{"a": ' + "[" * 50_000, "config.d/x.json"),
        "aliases": write(f"a: &x {'y' * 100_000}\nb: [{'*x, ' * 1_800}]", "config.d/x.yaml"),
        "aliases of numbers": write(
            f"a: &x 0x{'f' * 3_500}\nb: [{'*x, ' * 15_000}]", "config.d/x.yaml"
        ),
        "linked file": lambda home: (home / "config.toml").symlink_to(
            outside_folder / "secret.toml"
        ),
        "linked layer": lambda home: (home / "config.d" / "x.toml").symlink_to(
            outside_folder / "x.toml"
        ),
        "linked folder": link_folder,
        "fifo": lambda home: os.mkfifo(home / "config.toml"),
        "zero": lambda home: (home / "config.toml").symlink_to("/dev/zero"),
        "directory": lambda home: (home / "config.toml").mkdir(),
        "files": _scatter,
        "directories": _scatter_deep,
    }


def _scatter(home: Path) -> None:
    for number in range(201):
        (home / "config.d" / f"{number}.toml").write_text("a = 1")


def _scatter_deep(home: Path) -> None:
    place = home / "config.d"
    for _ in range(40):
        place /= "d"
        place.mkdir()


def _layer_lists(home: Path) -> None:
    """Append to a list without duplicates in many layers."""
    (home / "config.d" / "a.toml").write_text(_make_distinct_list(range(19_000)))
    for number in range(30):
        (home / "config.d" / f"b{number}.toml").write_text(_make_distinct_list([-number]))


def _repeat_file(home: Path) -> None:
    """Extend one file by many."""
    (home / "config.d" / "x.toml").write_text(f"x = [{'[],' * 18_000}]")
    for number in range(99):
        (home / "config.d" / f"{number}.toml").write_text('extends = ["x.toml"]')


def _make_distinct_list(numbers: Iterable[int]) -> str:
    """Return a configuration that appends numbers to a tool's option, each once."""
    option = f'{{value = {[*numbers]}, strategy = "append", dedup = true}}'
    return f'[conversation.tools.t]\nsource = "local"\ncommand = "true"\noptions.x = {option}\n'

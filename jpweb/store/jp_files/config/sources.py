"""The places of configuration files, in JP's order (docs/jp-format.md, Configuration files)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from jpweb import installation
from jpweb.store import db_text
from jpweb.store.jp_files.directory_handles import Directory

#: Path components of an entry below a source's folder.
EntryPath: TypeAlias = tuple[str, ...]

#: JP's default of ``extends``.
DEFAULT_EXTENDS = ("config.d/**/*",)


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """A folder, its main file without suffix, and the folder's name for people.

    ``is_own`` tells that the folder belongs to the user as whom the server runs, and not to the
    workspace's files: its main file may then be a symbolic link.
    """

    folder: Path
    label: str
    stem: str = "config"
    default_extends: tuple[str, ...] = ()
    is_own: bool = False

    @property
    def main_path(self) -> EntryPath:
        """The path of the main file, where it is TOML."""
        return (f"{self.stem}.toml",)

    def format_path(self, entry_path: EntryPath) -> str:
        """Return the name of an entry for people."""
        return db_text.clean_text("/".join((*filter(None, [self.label]), *entry_path)))

    def find_file(self, entry_path: EntryPath) -> Path:
        """Return the path to read an entry at. Raises OSError."""
        path = self.folder.joinpath(*entry_path)
        return installation.resolve_path(path) if self.is_own else path

    def list_present(self, names: Sequence[str]) -> list[str] | None:
        """Return those of the names that the folder has; None where there is no folder."""
        try:
            with Directory.open_at(self.folder) as folder:
                return [name for name in names if folder.stat(name) is not None]
        except (FileNotFoundError, NotADirectoryError):
            return None


def list_sources(root: Path, silo: Path | None) -> tuple[ConfigSource, ...]:
    """Return the sources of a workspace, lowest first.

    They are the user-global folder, ``.jp``, the workspace's root, where jp is taken to run, and
    the user-workspace folder, which is its silo.
    """
    user_folder = find_user_global_folder()
    return (
        *([ConfigSource(user_folder, "user-global", is_own=True)] if user_folder else []),
        ConfigSource(root / ".jp", ".jp", default_extends=DEFAULT_EXTENDS),
        ConfigSource(root, "", stem=".jp"),
        *([ConfigSource(silo, "user-workspace", is_own=True)] if silo else []),
    )


def find_user_global_folder() -> Path | None:
    """Return the folder of the configuration that this user has for all workspaces.

    ``JP_GLOBAL_CONFIG_DIR`` names another one than the platform's. None where this user has no
    home. The folder need not exist.
    """
    configured_folder = os.environ.get("JP_GLOBAL_CONFIG_DIR", "")
    config_home = os.environ.get("XDG_CONFIG_HOME", "")
    try:
        if configured_folder:
            folder = Path(configured_folder)
        elif sys.platform == "darwin":
            folder = Path.home() / "Library" / "Application Support" / "jp"
        elif config_home and Path(config_home).is_absolute():
            folder = Path(config_home) / "jp"
        else:
            folder = Path.home() / ".config" / "jp"
        return installation.resolve_path(folder)
    except (OSError, RuntimeError):  # RuntimeError: this user has no home
        return None

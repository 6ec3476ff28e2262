"""Locations of this installation, a checkout or a package, and paths that its operator names.

``templates``, ``static`` and ``docs`` are top-level folders of the repository; the wheel holds
them inside the package.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from importlib import metadata
from pathlib import Path

PACKAGE_DIR = Path(__file__).resolve().parent
IS_CHECKOUT = not (PACKAGE_DIR / "templates").is_dir()
#: The folder that holds ``templates``, ``static`` and ``docs``.
RESOURCE_DIR = PACKAGE_DIR.parent if IS_CHECKOUT else PACKAGE_DIR
#: The Markdown pages under *Help*, and their pictures, which are served as static files.
DOCS_DIR = RESOURCE_DIR / "docs"
PICTURES_DIR = DOCS_DIR / "pictures"

#: Commands, as shown to people, that start a server and a local cluster.
SERVE_COMMAND = "make run" if IS_CHECKOUT else "jpweb serve"
TEAM_COMMAND = "make run-team" if IS_CHECKOUT else "jpweb team"


def find_default_data_dir() -> Path:
    """Return the data folder for an unset ``JPWEB_DATA``."""
    return PACKAGE_DIR.parent / "var" if IS_CHECKOUT else find_user_data_dir("jpweb")


def find_user_data_dir(program: str) -> Path:
    """Return a program's folder for the data of this user (XDG), whether it exists or not."""
    data_home = os.environ.get("XDG_DATA_HOME", "")
    if data_home and Path(data_home).is_absolute():
        return Path(data_home) / program
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / program
    return Path.home() / ".local" / "share" / program


def resolve_path(path: Path) -> Path:
    """Return the whole path, its links resolved, whether or not a file is there.

    Raises OSError for a loop of links, and for the home of an unknown user.
    """
    try:
        resolved_path = path.expanduser().resolve()
    except RuntimeError as error:  # pathlib's: an unknown user and, up to Python 3.12, a loop
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
    if _is_loop(resolved_path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return resolved_path


def _is_loop(resolved_path: Path) -> bool:
    """Tell whether a link is left in the path: ``resolve`` leaves loops from Python 3.13 on."""
    try:
        resolved_path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def compute_static_version() -> str:
    """Return a digest of the static files: browsers cache their addresses forever."""
    digest = hashlib.blake2b(metadata.version("django-htmx").encode(), digest_size=6)
    for folder in (RESOURCE_DIR / "static", PICTURES_DIR):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                digest.update(os.fsencode(path.relative_to(folder)))
                digest.update(path.read_bytes())
    return digest.hexdigest()


def build_command(*arguments: str) -> list[str]:
    """Return the command line that runs this jpweb in another process, from any folder."""
    return [sys.executable, "-P", "-m", "jpweb", *arguments]


def build_import_path() -> str:
    """Return a ``PYTHONPATH`` with the absolute import paths of this process.

    Relative entries are dropped, because they depend on the working directory.
    """
    return os.pathsep.join(path for path in sys.path if Path(path).is_absolute())

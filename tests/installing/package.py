"""The wheel of this checkout, and an environment in which it is installed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tests.machine.serving import ROOT


def build_package(target: str, folder: Path, source: Path = ROOT) -> Path:
    """Build the ``wheel`` or the ``sdist`` of a source tree into a folder; return the file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


def unpack_sdist(file: Path, folder: Path) -> Path:
    """Unpack an sdist; return the folder of its source tree."""
    folder.mkdir()
    # tarfile has filters since Python 3.11.4.
    subprocess.run(["tar", "-xzf", file, "-C", folder], check=True)
    (tree,) = folder.iterdir()
    return tree


def install_wheel(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a new environment; return the environment's ``jpweb``.

    The libraries are those of this process, by their place, so nothing is downloaded; the wheel's
    own package comes before them.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    packages = next(folder.glob("lib/python*/site-packages"))
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    (packages / "libraries.pth").write_text("\n".join(libraries))
    return folder / "bin" / "jpweb"

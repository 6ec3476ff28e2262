"""The wheel and the sdist hold every file of the product, and no other."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.architecture.tree import list_files
from tests.installing.package import build_package, unpack_sdist

#: The top-level folders of the product.
PRODUCT = ("jpweb", "templates", "static", "docs")
#: What the sdist holds besides the product.
PAPERS = {
    *("pyproject.toml", "manage.py", "constraints.txt", ".gitignore"),
    *("README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO"),
}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_package("sdist", tmp_path_factory.mktemp("sdist"))


def name_in_wheel(path: Path) -> str:
    """Return the name under which a file of the repository is in the wheel."""
    return str(path if path.parts[0] == "jpweb" else Path("jpweb") / path)


def list_wheel(file: Path) -> list[str]:
    """Return the files of a wheel, its metadata left out."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    return sorted(name for name in names if ".dist-info/" not in name)


def list_product() -> list[Path]:
    return [path for path in list_files() if path.parts[0] in PRODUCT]


def test_wheel_holds_each_file_of_the_product(tmp_path: Path):
    wheel = build_package("wheel", tmp_path)
    assert list_wheel(wheel) == sorted(map(name_in_wheel, list_product()))


def test_sdist_holds_each_file_of_the_product(sdist: Path):
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert names == {*map(str, list_product()), *PAPERS}


def test_wheel_built_from_the_sdist_is_the_same(sdist: Path, tmp_path: Path):
    tree = unpack_sdist(sdist, tmp_path / "tree")
    rebuilt = build_package("wheel", tmp_path / "wheel", tree)
    assert list_wheel(rebuilt) == sorted(map(name_in_wheel, list_product()))

"""The package: one set of metadata, types, version."""

import importlib.metadata
import importlib.resources
import pathlib
import re
import sys

import pytest

import bristle


def test_both_projects_are_the_same_package() -> None:
    if sys.version_info < (3, 11):
        pytest.skip("tomllib comes with Python 3.11")
    import tomllib

    here, top = (tomllib.loads(pathlib.Path(name, "pyproject.toml").read_text()) for name in ("crates/python", "."))
    assert top["build-system"] == here["build-system"]
    assert {**top["project"], "readme": ""} == {**here["project"], "readme": ""}
    assert top["tool"]["maturin"]["module-name"] == here["tool"]["maturin"]["module-name"]


def test_version_is_that_of_the_workspace() -> None:
    found = re.search(r'^version = "(.*)"', pathlib.Path("Cargo.toml").read_text(), re.M)
    assert found and bristle.__version__ == found[1] == importlib.metadata.version("bristle")


def test_types_are_shipped() -> None:
    assert importlib.resources.files(bristle).joinpath("py.typed").is_file()
    assert importlib.resources.files(bristle).joinpath("_bristle.pyi").is_file()

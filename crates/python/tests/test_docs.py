"""The examples in docstrings and on the pages of documentation run."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
from collections.abc import Iterator

import conftest
import pytest

import bristle
from bristle import _bristle

OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
PAGES = [*sorted((pathlib.Path(__file__).parents[1] / "docs").glob("*.md")), conftest.ROOT / "README.md"]


def documented() -> Iterator[tuple[str, str]]:
    """Docstrings with examples, native ones included: doctest itself does not look into those."""
    # ray has a test of its own: it starts processes
    names = [name for _, name, _ in pkgutil.iter_modules(bristle.__path__) if name not in {"_bristle", "ray"}]
    modules = [bristle, _bristle] + [importlib.import_module(f"bristle.{name}") for name in names]
    seen = set()
    for module in modules:
        yield module.__name__, module.__doc__ or ""
        for name, member in vars(module).items():
            if not inspect.isclass(member) and not inspect.isroutine(member):
                continue
            if not getattr(member, "__module__", "").startswith("bristle") or id(member) in seen:
                continue
            seen.add(id(member))
            yield f"{module.__name__}.{name}", member.__doc__ or ""
            for part, inner in vars(member).items() if inspect.isclass(member) else ():
                yield f"{module.__name__}.{name}.{part}", getattr(inner, "__doc__", None) or ""


@pytest.mark.parametrize("name, text", [pair for pair in documented() if ">>>" in pair[1]])
def test_examples_of_docstrings(name: str, text: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test)
    assert runner.failures == 0 and runner.tries > 0


def test_public_classes_are_documented() -> None:
    for name in bristle.__all__:
        member = getattr(bristle, name)
        if not inspect.isclass(member):
            continue
        assert member.__doc__, name
        for part, inner in vars(member).items():
            if not part.startswith("_") and (callable(inner) or inspect.isdatadescriptor(inner)):
                assert getattr(inner, "__doc__", None), f"{name}.{part}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_on_pages_runs(page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a page run one after the other, in a folder with the scenes beside it. Blocks that need a
    cluster do not run."""
    root = pathlib.Path.cwd()
    for name in ("scenes", "crates"):
        (tmp_path / name).symlink_to(root / name)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)

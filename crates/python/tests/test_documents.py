"""The documents are tested, too: what the README shows in Python runs; the types fit."""

import sys

import pytest

from conftest import CARD, ROOT


def test_the_readme(lab):
    blocks = (ROOT / "README.md").read_text().split("```python\n")[1:]
    assert blocks
    for block in blocks:
        text = lab.python(block.split("```")[0], CARD)
        assert "Max RAM:" in text and "0 active " in text and text.endswith("[0]\n")


def test_every_name_that_is_offered_is_there(lab):
    lab.python(
        """
        import gua, importlib.resources, os
        for name in gua.__all__:
            assert getattr(gua, name) is not None, name
            assert name in dir(gua)
            value = getattr(gua, name)
            if callable(value):
                assert value.__doc__, name
        assert os.path.exists(os.path.join(os.path.dirname(gua.__file__), 'py.typed'))
        try:
            gua.nothing
        except AttributeError as error:
            assert str(error) == "module 'gua' has no attribute 'nothing'"
        """,
        None,
    )


def test_the_import_loads_nothing_dear(lab):
    lab.python(
        """
        import sys
        before = set(sys.modules)
        import gua
        loaded = set(sys.modules) - before
        dear = {'dataclasses', 'inspect', 'json', 'logging', 'asyncio', 'pandas', 'numpy', 'IPython'}
        assert not dear & loaded, dear & loaded
        """,
        None,
    )


TYPED = """
import asyncio
from typing import AsyncIterator, Iterator
import gua

@gua.track
def plain(count: int) -> str:
    return str(count)

@gua.track(sleep_time=0.1, on_finish=lambda tracker: print(tracker.unknown))
async def later(count: int) -> int:
    return count

@gua.sub_track("values")
def values() -> Iterator[int]:
    yield 1

def details(tracker: gua.Tracker) -> gua.Details | None:
    return tracker.details

def sessions(report: gua.Report) -> list[gua.parts.Session]:
    return report.sessions or []

def why(error: gua.NotEnoughCards) -> list[gua.PickedCard]:
    return error.pick.cards

reveal_type(plain)
reveal_type(later)
reveal_type(values)
"""

WRONG = """
import gua
gua.detials
plain = gua.track(sleep_tiem=0.1)
"""


def test_the_types(lab):
    pytest.importorskip("mypy")
    checked = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10"]
    done = lab.run(None, *checked, "--cache-dir", lab.folder / "cache", lab.script(TYPED))
    assert done.returncode == 0, done.stdout
    assert 'def (count: int) -> str"' in done.stdout
    assert "Coroutine[Any, Any, int]" in done.stdout
    assert 'def () -> typing.Iterator[int]"' in done.stdout
    done = lab.run(None, *checked, "--cache-dir", lab.folder / "cache", lab.script(WRONG))
    assert 'Module has no attribute "detials"' in done.stdout
    assert "sleep_tiem" in done.stdout or "No overload variant" in done.stdout


def test_the_stubs_are_what_the_native_half_has(lab):
    pytest.importorskip("mypy")
    done = lab.run(None, sys.executable, "-m", "mypy.stubtest", "gua._native", HOME=str(lab.home))
    assert done.returncode == 0, done.stdout + done.stderr

"""The documents are tested, too: what the README shows in Python runs; the types fit."""

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

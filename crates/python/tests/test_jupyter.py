"""The notebook's side, in a real kernel: cells go in, what a notebook would show comes out."""

import re
import sys

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

from conftest import CARD, PATIENCE_SECONDS  # noqa: E402

EVIL = '[[process]]\npid = 4711\ncard = 0\nmemory = "1GiB"\nprogram = "<img src=x>"\n'


class Notebook:
    """Runs cells in a kernel on a pretend machine."""

    def __init__(self, lab, scenario):
        self.lab = lab
        # The kernel inherits its environment; a kernel's command can be any.
        spec = lab.home / ".local/share/jupyter/kernels/lab"
        spec.mkdir(parents=True)
        command = lab.command(scenario, sys.executable, "-m", "ipykernel_launcher", "-f")
        words = ", ".join(f'"{word}"' for word in [*command, "{connection_file}"])
        (spec / "kernel.json").write_text(
            f'{{"argv": [{words}], "display_name": "lab", "language": "python"}}'
        )

    def run(self, *cells, allow_errors=False):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        client = nbclient.NotebookClient(
            notebook,
            timeout=PATIENCE_SECONDS,
            kernel_name="lab",
            allow_errors=allow_errors,
            resources={"metadata": {"path": str(self.lab.folder)}},
        )
        client.execute(env=self.lab.environment(JPY_PARENT_PID=""))
        return [cell["outputs"] for cell in notebook.cells]


@pytest.fixture
def notebook(lab, monkeypatch):
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUPYTER_PATH", str(lab.home / ".local/share/jupyter"))
    return Notebook(lab, CARD + EVIL)


def text(outputs):
    return "".join(o["text"] for o in outputs if o["output_type"] == "stream")


def html(outputs):
    return "".join(o["data"].get("text/html", "") for o in outputs if "data" in o)


SIZE = r"[\d.]+ [kMG]?B"
GPU = rf"GPU memory {SIZE}, peak {SIZE}, stayed [+-]{SIZE}"


def test_the_whole_of_it(notebook):
    outputs = notebook.run(
        "%load_ext gua\nfrom pretend import hold, until\nimport gua, time",
        "%%gua -o used\nmemory = bytearray(50_000_000)\nfor _ in range(3):\n    time.sleep(0.15)\nlen(memory)",
        "used.details.samples > 2, used.resource_usage.max_ram.unit",
        "%gua on",
        "hold(1000)\nx = b'x' * 80_000_000\nuntil(lambda: 1000 * 2**20 in [one.memory_bytes for one in gua.processes()])",
        "1 + 1",
        "hold(0)\ndel x",
        "%gua off",
        "2 + 2",
        "%gua gpus",
        "%gua sum(range(10))",
        "%gua",
        "gua.gpus()",
    )
    _, measured, used, on, held, after, freed, _, off, gpus, line, help_text, cards = outputs
    # The cell's own value comes first, then what it used, with a picture.
    assert measured[0]["data"]["text/plain"] == "50000000"
    assert re.match(rf"gua: [\d.]+ s \| RAM {SIZE}, peak {SIZE}", measured[1]["data"]["text/plain"])
    assert "<polyline" in html(measured) and "RAM" in html(measured)
    assert used[0]["data"]["text/plain"] == "(True, 'gigabytes')"
    assert text(on) == ""
    assert re.fullmatch(
        rf"gua: [\d.]+ s \| RAM {SIZE}, peak {SIZE}, stayed \+[78]\d\.\d MB \| "
        r"GPU memory 1\.05 GB, peak 1\.05 GB, stayed \+1\.05 GB\n",
        text(held),
    ), text(held)
    assert "stayed +0 B" in text(after).split("|")[2], text(after)
    assert after[0]["data"]["text/plain"] == "2"
    assert "stayed -1.05 GB" in text(freed).split("|")[2], text(freed)
    assert re.search(r"stayed -[78]\d\.\d MB", text(freed)), text(freed)
    assert text(off) == ""
    assert "&lt;img src=x&gt;" in html(gpus) and "<img" not in html(gpus)
    assert line[0]["data"]["text/plain"] == "45" and "<table" in html(line[1:])
    assert "%gua on | off" in text(help_text)
    assert "<table" in html(cards) and "A100" in html(cards)


def test_a_measured_cell_runs_as_any_other(notebook):
    outputs = notebook.run(
        "%load_ext gua\nimport asyncio",
        "%%gua\nclass D:\n    x: int = 1\nD.__annotations__['x']",
        "%%gua -o used\nawait asyncio.sleep(0.05)\nfound = 7\nfound",
        "used.details.wall_seconds >= 0.05, used.state.name",
        "%%gua\nfound;",
        "%gua await asyncio.sleep(0, 8)",
        "found = 9\n%gua found + 1",
        "get_ipython().run_cell_magic('gua', '-o kept', 'y: int = 1\\ny + 2')\nkept.state.name",
        "%%gua -o 'my name'\n1",
        "%gua on",
        "%reload_ext gua",
        "%%gua\n11",
        allow_errors=True,
    )
    plain = [[o["data"]["text/plain"] for o in one if "data" in o] for one in outputs]
    assert plain[1][0] == "int" or plain[1][0] == "<class 'int'>", outputs[1]
    assert plain[2][0] == "7" and plain[2][1].startswith("gua: "), outputs[2]
    assert plain[3] == ["(True, 'STOPPED')"], outputs[3]
    # A value that ends in a semicolon is not shown.
    assert len(plain[4]) == 1 and plain[4][0].startswith("gua: "), outputs[4]
    assert plain[5][0] == "8" and plain[5][1].startswith("gua: "), outputs[5]
    assert plain[6][0] == "10" and plain[6][1].startswith("gua: "), outputs[6]
    assert plain[7][0] == "3" and plain[7][-1] == "'STOPPED'", outputs[7]
    assert "'my name' is no name for a variable" in str(outputs[8])
    assert "no longer told of" in text(outputs[10])
    assert plain[11][0] == "11" and len(plain[11]) == 2, outputs[11]


def test_errors_are_the_cells_own(notebook):
    outputs = notebook.run(
        "%load_ext gua",
        "%%gua -o used\nx = 1\nraise KeyError('mine')",
        "used.state.name, x",
        "%%gua --never\n1",
        "%%gua -i 0\n1",
        "%%gua\nx ==",
        "%gua on",
        "raise ValueError('yours')",
        "%unload_ext gua",
        "%gua gpus",
        allow_errors=True,
    )
    errors = [[o for o in one if o["output_type"] == "error"] for one in outputs]
    assert errors[1][0]["ename"] == "KeyError"
    # What it used until then is told all the same.
    assert "<table" in html(outputs[1])
    assert outputs[2][0]["data"]["text/plain"] == "('STOPPED', 1)"
    shown = "".join(errors[3][0]["traceback"]) if errors[3] else str(outputs[3])
    assert "unrecognized arguments: --never" in shown
    shown = "".join(errors[4][0]["traceback"]) if errors[4] else str(outputs[4])
    assert "Sleep time of 0 is invalid" in shown
    assert errors[5][0]["ename"] == "SyntaxError"
    assert errors[7][0]["ename"] == "ValueError"
    assert text(outputs[7]).startswith("gua: ")
    assert "not found" in str(outputs[9])


def test_without_a_driver_a_cell_is_told_of_all_the_same(lab, notebook):
    outputs = notebook.run(
        "import os\nos.environ['GUA_NVML'] = 'libno-such-driver.so.1'\n%load_ext gua\n%gua on",
        "pass",
        "%gua gpus",
        allow_errors=True,
    )
    assert "GPU memory unknown (" in text(outputs[1])
    assert [o["ename"] for o in outputs[2] if o["output_type"] == "error"] == ["NoLibrary"]

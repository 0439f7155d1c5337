"""The notebook's side: ``%%gua`` measures a cell, ``%gua on`` tells of every cell."""

from __future__ import annotations

import argparse
import ast
import shlex
from types import CodeType
from typing import Any, NoReturn, Optional, Tuple

from . import _native
from ._cards import gpus, processes
from ._tracker import State, Tracker
from ._words import line

# Short cells have to be seen, too; it costs less than a hundredth of a core.
_SLEEP_SECONDS = 0.1

_HELP = """\
%%gua [-i SECONDS] [-o NAME]   measure this cell; keep the tracker as NAME
%gua on | off                  tell in one line what every cell used
%gua gpus | processes          the cards, and who holds them
%gua CODE                      measure one line of code"""


class _Refused(Exception):
    """What was typed makes no sense."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Refused(f"{message}\n{_HELP}")


def _options() -> _Parser:
    parser = _Parser(prog="%%gua", add_help=False)
    parser.add_argument("-i", "--interval", type=float, default=_SLEEP_SECONDS)
    parser.add_argument("-o", "--output")
    return parser


class CellLog:
    """One line after every cell: what it used, and what it left allocated."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._tracker: Optional[Tracker] = None
        # What the cell before has left, which is what there was when this one began.
        self._gpu_before: Optional[int] = None
        self.is_on = False

    def turn_on(self) -> None:
        if self.is_on:
            return
        self.is_on = True
        # The driver is opened for the first time before a cell has to wait for it.
        with Tracker(sleep_time=_SLEEP_SECONDS, disable_logs=True) as first:
            pass
        self._keep(first)
        self._shell.events.register("pre_run_cell", self._before)
        self._shell.events.register("post_run_cell", self._after)

    def turn_off(self) -> None:
        if not self.is_on:
            return
        self.is_on = False
        self._shell.events.unregister("pre_run_cell", self._before)
        self._shell.events.unregister("post_run_cell", self._after)
        if self._tracker is not None and self._tracker.state is State.STARTED:
            self._tracker.stop()
        self._tracker = None

    def _keep(self, tracker: Tracker) -> None:
        details = tracker.details
        self._gpu_before = None if details is None else details.gpu_end_bytes

    def _before(self, *_: object) -> None:
        self._tracker = Tracker(sleep_time=_SLEEP_SECONDS, disable_logs=True)
        self._tracker.start()

    def _after(self, *_: object) -> None:
        tracker, self._tracker = self._tracker, None
        # The cell that turned it on was not measured from its begin.
        if tracker is None or tracker.state is not State.STARTED:
            return
        tracker.stop()
        print(f"gua: {_native.safe(line(tracker, gpu_before=self._gpu_before))}")
        self._keep(tracker)


class Magic:
    """``%gua`` and ``%%gua``."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.log = CellLog(shell)

    def __call__(self, typed: str, cell: Optional[str] = None) -> Any:
        try:
            return self._line(typed) if cell is None else self._cell(typed, cell)
        except _Refused as refused:
            from IPython.core.error import UsageError

            raise UsageError(str(refused)) from None

    def _line(self, typed: str) -> Any:
        word = typed.strip()
        if word in ("on", "off"):
            return self.log.turn_on() if word == "on" else self.log.turn_off()
        if word == "gpus":
            return gpus()
        if word == "processes":
            return processes()
        if word in ("", "help", "-h", "--help", "?"):
            print(_HELP)
            return None
        return self._measure(typed, _SLEEP_SECONDS, None)

    def _cell(self, typed: str, cell: str) -> Any:
        options = _options().parse_args(shlex.split(typed))
        return self._measure(cell, options.interval, options.output)

    def _measure(self, code: str, interval: float, name: Optional[str]) -> None:
        """The cell's own result is shown before what it used; what it raises is raised."""
        try:
            tracker = Tracker(sleep_time=interval, disable_logs=True)
        except ValueError as error:
            raise _Refused(str(error)) from None
        body, last = _compiled(self._shell, code)
        try:
            with tracker:
                exec(body, self._shell.user_ns)
                value = None if last is None else eval(last, self._shell.user_ns)
            self._shell.displayhook(value)
        finally:
            if name is not None:
                self._shell.user_ns[name] = tracker
            _show(tracker)


def _compiled(shell: Any, code: str) -> Tuple[CodeType, Optional[CodeType]]:
    """A cell as code, and its last expression, whose value is shown."""
    code = shell.transform_cell(code)
    tree = shell.transform_ast(shell.compile.ast_parse(code))
    # Where a traceback finds the lines.
    place = shell.compile.cache(code)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = compile(ast.Expression(tree.body.pop().value), place, "eval")
    return compile(tree, place, "exec"), last


class _Usage:
    """What a cell used: a picture in a notebook, one line elsewhere."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    def __repr__(self) -> str:
        return f"gua: {_native.safe(line(self._tracker))}"

    def _repr_html_(self) -> Optional[str]:
        return self._tracker._repr_html_()


def _show(tracker: Tracker) -> None:
    from IPython.display import display

    display(_Usage(tracker))  # type: ignore[no-untyped-call,unused-ignore]


_loaded: Optional[Magic] = None


def load(shell: Any) -> None:
    global _loaded
    if _loaded is None:
        _loaded = Magic(shell)
    shell.register_magic_function(_loaded, "line_cell", "gua")


def unload(shell: Any) -> None:
    global _loaded
    if _loaded is not None:
        _loaded.log.turn_off()
        _loaded = None
    shell.magics_manager.magics["line"].pop("gua", None)
    shell.magics_manager.magics["cell"].pop("gua", None)

"""The notebook's side: ``%%gua`` measures a cell, ``%gua on`` tells of every cell."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from typing import Any, List, NoReturn, Optional, Tuple

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


# What `%gua` has words for; everything else is code.
_WORDS = ("on", "off", "gpus", "processes", "", "help", "-h", "--help", "?")
_BEGIN = "--begin"
_FIRST_LINE = re.compile(r"%%gua(?P<options>[ \t].*|)$")
_ONLY_LINE = re.compile(r"%gua[ \t]+(?P<code>.*)$")


def measured(lines: List[str]) -> List[str]:
    """A cell that begins with ``%%gua``, as the cell itself after a line that begins to measure.

    So it runs as any cell does, with ``await``, ``;`` and all; its end is told by an event.
    """
    if not lines:
        return lines
    first = _FIRST_LINE.match(lines[0].rstrip("\n"))
    if first is not None:
        return [_begin(first["options"]), *lines[1:]]
    only = _ONLY_LINE.match(lines[0].rstrip("\n"))
    is_code = only is not None and only["code"].strip() not in _WORDS
    if only is not None and is_code and not any(line.strip() for line in lines[1:]):
        return [_begin(""), only["code"] + "\n"]
    return lines


def _begin(options: str) -> str:
    return f"get_ipython().run_line_magic('gua', {f'{_BEGIN} {options.strip()}'!r})\n"


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


class CellMeasure:
    """One cell that began with ``%%gua``: from its first line to its end, whatever that is."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._running: Optional[Tuple[Tracker, Optional[str]]] = None

    def begin(self, typed: str) -> None:
        options = _options().parse_args(shlex.split(typed))
        if options.output is not None and not options.output.isidentifier():
            raise _Refused(f"{options.output!r} is no name for a variable\n{_HELP}")
        try:
            tracker = Tracker(sleep_time=options.interval, disable_logs=True)
        except ValueError as error:
            raise _Refused(str(error)) from None
        tracker.start()
        self._running = (tracker, options.output)

    def run(self, typed: str, code: str) -> None:
        """Code that is only a part of a cell, or that a program has: it cannot ``await``."""
        code = self._shell.transform_cell(code)
        tree = self._shell.transform_ast(self._shell.compile.ast_parse(code))
        # Where a traceback finds the lines.
        place = self._shell.compile.cache(code)
        self.begin(typed)
        try:
            for part, mode in _parts(tree):
                # With the flags of the cells, not with those of this file.
                exec(
                    compile(part, place, mode, self._shell.compile.flags, True),
                    self._shell.user_ns,
                )
        finally:
            self.end()

    def end(self, *_: object) -> None:
        if self._running is None:
            return
        (tracker, name), self._running = self._running, None
        tracker.stop()
        if name is not None:
            self._shell.user_ns[name] = tracker
        _show(tracker)


def _parts(tree: ast.Module) -> List[Tuple[Any, str]]:
    """The last expression is run as at a prompt, so that its value is shown."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return [(tree, "exec")]
    last = tree.body.pop()
    return [(tree, "exec"), (ast.Interactive([last]), "single")]


class Magic:
    """``%gua`` and ``%%gua``."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.log = CellLog(shell)
        self._measure = CellMeasure(shell)

    def register(self) -> None:
        self._shell.register_magic_function(self, "line_cell", "gua")
        self._shell.input_transformers_cleanup.append(measured)
        self._shell.events.register("post_run_cell", self._measure.end)

    def unregister(self) -> None:
        if self.log.is_on:
            print("gua: cells are no longer told of; `%gua on` tells of them again")
        self.log.turn_off()
        self._shell.events.unregister("post_run_cell", self._measure.end)
        self._shell.input_transformers_cleanup.remove(measured)
        for kind in ("line", "cell"):
            self._shell.magics_manager.magics[kind].pop("gua", None)

    def __call__(self, typed: str, cell: Optional[str] = None) -> Any:
        try:
            return self._line(typed) if cell is None else self._measure.run(typed, cell)
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
        if word in _WORDS:
            print(_HELP)
            return None
        if word.split()[0] == _BEGIN:
            return self._measure.begin(word[len(_BEGIN) :])
        return self._measure.run("", typed)


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
        _loaded.register()


def unload(shell: Any) -> None:
    global _loaded
    if _loaded is not None:
        _loaded.unregister()
        _loaded = None

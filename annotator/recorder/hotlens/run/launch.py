"""Running the user's program as the `__main__` it would be under plain Python."""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Callable

from ..process.environment import check_torch
from ..process.report import RecorderError
from ..source import cell_names, notebook


class Program:
    """A script with its arguments, or `-m`, a module and its arguments."""

    def __init__(self, argv: list[str]) -> None:
        self.is_module = argv[0] == "-m"
        self.argv = argv
        self.target = argv[1] if self.is_module else argv[0]
        self.folder = os.getcwd() if self.is_module else os.path.dirname(os.path.realpath(self.target))
        self.notebook: notebook.Notebook | None = None  # with `prepare`
        self.edited: Callable[[bytes], bytes] = lambda text: text
        self.prepared: Callable[[CodeType, bytes, str], CodeType] = lambda code, text, path: code

    @property
    def name(self) -> str:
        """For a person."""
        return self.target if self.is_module else os.path.basename(self.target)

    def prepare(self) -> None:
        """Sets sys.path[0] and sys.argv. Raises RecorderError for a script that is not there, or a notebook that is none."""
        if not self.is_module and not os.path.isfile(self.target):
            what = "is a folder" if os.path.isdir(self.target) else "does not exist"
            raise RecorderError(f"{self.target} {what}. Name the script that trains, as in: hotlens run train.py")
        if not self.is_module and notebook.is_notebook(self.target):
            self.notebook = notebook.read(self.target)
        if getattr(sys.flags, "safe_path", False):
            pass  # -P: Python leaves the script's folder out too
        elif sys.path:
            sys.path[0] = self.folder
        sys.argv = ["-m", *self.argv[2:]] if self.is_module else list(self.argv)

    @classmethod
    def ready(cls, command: list[str]) -> Program:
        """Of the words behind a verb's options. Ends the process with 3 and a sentence where it cannot be run."""
        try:
            program = cls(command[1:] if command[:1] == ["--"] else command)
            program.prepare()
            check_torch()
        except RecorderError as error:
            print(error, file=sys.stderr)
            sys.exit(3)
        return program

    def run(self) -> None:
        """Runs it to its end; whatever it raises comes through."""
        main = ModuleType("__main__")
        main.__dict__["__builtins__"] = __builtins__
        if sys.version_info < (3, 14):
            main.__dict__.update(__annotations__={})
        sys.modules["__main__"] = main
        if self.is_module:
            import runpy

            # What `python -m` itself calls: sets __spec__, __file__ and sys.argv[0], and reports a missing module in Python's words.
            runpy._run_module_as_main(self.target)  # type: ignore[attr-defined]
            return
        if self.notebook is not None:
            self._run_cells(self.notebook, main.__dict__)
            return
        path = os.path.abspath(self.target)
        loader = SourceFileLoader("__main__", path)
        main.__dict__.update(__file__=path, __loader__=loader, __package__=None, __spec__=None, __cached__=None)
        with open(path, "rb") as file:
            text = self.edited(file.read())
        code = self.prepared(compile(text, path, "exec", dont_inherit=True), text, path)
        del text
        exec(code, main.__dict__)

    def _run_cells(self, cells: notebook.Notebook, names: dict[str, Any]) -> None:
        """As Jupyter has it: in the notebook's folder, without `__file__`, with `display`; plots are drawn nowhere."""
        text = self.edited(cells.text)
        cell_names.install(cells)
        os.environ.setdefault("MPLBACKEND", "Agg")
        os.chdir(self.folder)
        names.update(__package__=None, __spec__=None, display=_display)
        code = self.prepared(cell_names.compiled(text, cells), text, cells.path)
        del text
        exec(code, names)


def _display(*objects: Any, **_: Any) -> None:
    print(*objects)

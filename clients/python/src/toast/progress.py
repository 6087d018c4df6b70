"""Progress of a search, for people: a line that changes where standard error is a terminal (with rich, where that is
installed), nothing else. A program passes a function instead and gets every line. Promises: the log is never part of it.
"""
from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

_log = logging.getLogger("toast")
Progress = bool | Callable[[str], None] | None


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Callable[[str], None]]:
    """A function that shows a line: None for a terminal only, True always, False never, or the caller's own."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda text: _log.info("%s", text)
    elif importlib.util.find_spec("rich"):
        rich_console: Any = importlib.import_module("rich.console")
        console = rich_console.Console(stderr=True)
        with console.status("toast: lowering") as status:
            yield lambda text: status.update(f"toast: {text.strip()}")
    else:
        terminal = sys.stderr.isatty()
        start, end = ("\r\x1b[K", "") if terminal else ("", "\n")
        yield lambda text: print(f"{start}toast: {text.strip()}", end=end, file=sys.stderr, flush=True)
        if terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

"""The process tree of a service as /proc shows it now, and signals for who is in it.

A process' kind is what its program, first argument and parent say, never what the tests started:

    server               toast-server
      what_if            toast-server --what-if: prices one request
        price_reader     toast-read: reads that request's module
    worker               toast-worker: its slots are threads of it
      child              toast-worker --child: computes for one slot
      reader             toast-read: reads a job's module for one slot
    redis                redis-server

A process between fork and exec looks like its parent: it is `starting`. One that fits nowhere is `unknown`."""
import os
import pathlib
import signal

KINDS = ("server", "what_if", "price_reader", "worker", "child", "reader", "redis")


def children(pid):
    """processes whose parent is pid and that have not ended, by number"""
    found = []
    try:
        for task in os.scandir(f"/proc/{pid}/task"):
            found += [int(word) for word in pathlib.Path(task.path, "children").read_text().split()]
    except (OSError, ValueError):
        return sorted(child for child in found if living(child))
    return sorted(child for child in found if living(child))


def living(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def command(pid):
    """name of the program that the process runs; "" when it is gone"""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def family(pid, name=""):
    """pid's descendants of this name, nearest first; all of them without one"""
    found, next_ones = [], [pid]
    while next_ones:
        next_ones = [child for parent in next_ones for child in children(parent)]
        found += next_ones
    return [child for child in found if not name or command(child) == name]


def arguments(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
    return [word.decode(errors="replace") for word in words[:-1]]


def classify(pid, parent_kind):
    """-> kind of a process whose parent is of that kind (None: the service's root); "" when it is gone"""
    words = arguments(pid)
    if not words:
        return ""
    name, first = words[0].split(" ")[0].rpartition("/")[2], words[1] if len(words) > 1 else ""   # Redis' has its address in it
    if parent_kind is None:
        kinds = {"toast-server": "server", "toast-worker": "worker"}
        return "redis" if name.startswith("redis-server") else kinds.get(name, "other")
    if name == "toast-read":
        return {"worker": "reader", "what_if": "price_reader"}.get(parent_kind, "unknown")
    if parent_kind == "server":
        return "what_if" if first == "--what-if" else "starting" if name == "toast-server" else "unknown"
    if parent_kind == "worker":
        return "child" if first == "--child" else "starting" if name == "toast-worker" else "unknown"
    if parent_kind == "what_if":
        return "starting" if first == "--what-if" else "unknown"
    return "redis_child" if parent_kind == "redis" else "unknown"


def look(root):
    """-> {kind: [pids]} of root's descendants; others than the service's (a test's own tools) are left out"""
    found = {}

    def walk(pid, kind):
        for child in children(pid):
            its = classify(child, kind)
            if its and its != "other":
                found.setdefault(its, []).append(child)
                walk(child, its)

    walk(root, None)
    return found


class Handle:
    """one process, which no other that gets its number is mistaken for; None from open() when it is gone"""

    @staticmethod
    def open(pid):
        try:
            return Handle(pid, os.pidfd_open(pid))
        except OSError:
            return None

    def __init__(self, pid, fd):
        self.pid, self.fd = pid, fd

    def send(self, number):
        """-> whether it was still there"""
        try:
            signal.pidfd_send_signal(self.fd, number)
            return True
        except ProcessLookupError:
            return False

    def close(self):
        os.close(self.fd)

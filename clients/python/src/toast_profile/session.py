"""A session of timing: which programs are left, compiles beside runs, how long a program may take, the log, the profile.

    archive - log = what is left --threads--> compiled --one at a time--> runs --> log --> profile.json

- Compiling goes on in threads while programs are timed; on CPU devices, where both would want the same cores, in rounds instead:
  some are compiled, then timed (`overlap` says otherwise).
- Each program runs 5 times to warm up and 10 times for its time, which is the median. A program whose run takes longer than
  `give_up` times the best of its segment is timed once more only (CFP's section 4.3). One that hangs ends the session: the log
  says so, and the next session goes on behind it.
- The log has a line for every program as soon as it was timed; a session with the same log does what is left.
- With `parts` a program is timed once more without its collectives (apart.py): that is its computation, what it takes longer with
  them its communication. A pair's time is communication alone.
- Taken off every time: what starting a program takes that does nothing with as many arguments and results (on eight CPU devices 0.05 ms with one,
  1.1 ms with 47 and 44); and of a pair, whose values pass through untouched where both
  blocks want them alike, what its cheapest program without a collective takes.
Source: CFP, sections 4.2 and 4.3.
"""
from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import json
import math
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .archive import Archive, Program


class ProfileError(Exception):
    """devices, log or programs do not fit together; the text says which"""


@dataclasses.dataclass
class Options:
    warm_up: int = 5
    runs: int = 10
    give_up: float = 8.0            # times the best of the segment
    hang_s: float = 300.0           # of one run
    threads: int = 0                # that compile; 0: one a core, one core less where runs go on beside
    overlap: bool | None = None     # None: where the devices are not the CPU
    log: str | None = None          # None: OUT with .log
    limit: int | None = None        # programs of this session at most; None: all
    parts: bool = False             # computation and communication apart


Log = dict[str, dict[str, Any]]


def read_log(path: str, head: dict[str, Any]) -> Log:
    """digest -> what was measured (launch_us: starting it); ProfileError where the log is of other devices"""
    found: Log = {}
    if not os.path.exists(path):
        return found
    with open(path) as file:
        lines = [line for line in file if line.endswith("\n") and line.strip()]      # a cut line was never finished
    for number, line in enumerate(lines):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ProfileError(f"{path}, line {number + 1}: {error}") from error
        if number == 0:
            other = sorted(key for key in head if row.get(key) != head[key])
            if other:
                raise ProfileError(f"{path} was begun with another {', '.join(other)} ({row.get(other[0])!r}, here {head[other[0]]!r}): "
                                   "give another --log")
        elif "launch_us" in row:        # earlier builds' lack it: measured anew
            found[row["digest"]] = row
    return found


def take_off(archive: Archive, log: Log) -> dict[str, float]:
    """microseconds of every program in the log, without what starting and passing through take"""
    through: dict[str, float] = {}
    for program in archive.programs:
        if program.is_pair and not program.collectives and program.digest in log:
            through[program.segment] = min(through.get(program.segment, math.inf), log[program.digest]["raw_us"])
    out = {}
    for program in archive.programs:
        if program.digest in log:
            launch_us = log[program.digest]["launch_us"]
            off = through.get(program.segment, launch_us) if program.is_pair else launch_us
            still = program.is_pair and not program.collectives
            out[program.digest] = 0.0 if still else max(0.0, log[program.digest]["raw_us"] - off)
    return out


def parts_of(program: Program, row: dict[str, Any], time_us: float) -> dict[str, float]:
    """what is known of computation and communication in a program's time"""
    if program.is_pair or not program.collectives:
        computation_us = 0.0 if program.is_pair else time_us
    elif "alone_us" in row:
        computation_us = min(time_us, max(0.0, row["alone_us"] - row["launch_us"]))
    else:
        return {}
    return {"computation_us": round(computation_us, 3), "communication_us": round(time_us - computation_us, 3)}


def write_profile(path: str, archive: Archive, log: Log, head: dict[str, Any]) -> dict[str, Any]:
    times = take_off(archive, log)
    segments: dict[str, list[dict[str, Any]]] = {}
    for program in archive.programs:
        if program.digest in log:
            row = log[program.digest]
            time_us = times[program.digest]
            segments.setdefault(program.segment, []).append(
                {"configuration": program.digest, "time_us": round(time_us, 3), **parts_of(program, row, time_us),
                 "peak_bytes": row["peak_bytes"], "runs": row["runs"]})
    launches = [row["launch_us"] for row in log.values()] or [0.0]
    profile = {"description": f"toast-profile: {head['devices']} x {head['kind']} ({head['platform']}), jax {head['jax']}; "
                              f"{min(launches):.1f} to {max(launches):.1f} us of starting taken off",
               "devices": archive.devices,
               "segments": [{"segment": segment, "configurations": rows} for segment, rows in segments.items()]}
    temporary = path + ".part"
    with open(temporary, "w") as file:
        json.dump(profile, file, separators=(",", ":"))
        file.write("\n")
    os.replace(temporary, path)
    return profile


class _Watch:
    """Ends the process when a run hangs: nothing else stops a collective that waits for a device."""

    def __init__(self, seconds: float, log: str) -> None:
        self.seconds, self.log = seconds, log

    def over(self, program: Program, peak_bytes: int, work: Callable[[], Any]) -> Any:
        def hung() -> None:
            row = {"digest": program.digest, "raw_us": self.seconds * 1e6, "launch_us": 0.0, "runs": 1, "peak_bytes": peak_bytes, "hung": True}
            with open(self.log, "a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"toast-profile: {program.name} has not ended in {self.seconds:.0f} s: noted; run again to go on", flush=True)
            os._exit(3)
        timer = threading.Timer(self.seconds, hung)
        timer.daemon = True
        timer.start()
        try:
            return work()
        finally:
            timer.cancel()


def _has_parts(program: Program, options: Options) -> bool:
    return options.parts and program.collectives > 0 and not program.is_pair


def _compiled(programs: list[Program], archive: Archive, devices: list[Any], options: Options,
              overlap: bool) -> Iterator[tuple[Program, list[Any]]]:
    """programs with their executables (the program; where its parts are asked for, it without its collectives), in order, at most
    some of them ahead"""
    from . import running
    cores = os.cpu_count() or 1
    threads = options.threads or max(1, cores - 1 if overlap else cores)
    ahead = threads + 2 if overlap else 4 * threads
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        def both(program: Program) -> list[Any]:
            text = archive.text(program)
            return [running.Compiled(text, devices, alone) for alone in ([False, True] if _has_parts(program, options) else [False])]

        def start(program: Program) -> concurrent.futures.Future[list[Any]]:
            return pool.submit(both, program)
        if not overlap:
            for first in range(0, len(programs), ahead):
                batch = programs[first:first + ahead]
                futures = [start(program) for program in batch]
                concurrent.futures.wait(futures)
                yield from ((program, future.result()) for program, future in zip(batch, futures, strict=True))
            return
        waiting = [start(program) for program in programs[:ahead]]
        for i, program in enumerate(programs):
            result = waiting[i].result()
            waiting[i] = None      # type: ignore[call-overload]  # executables are large
            if i + ahead < len(programs):
                waiting.append(start(programs[i + ahead]))
            yield program, result


def _time(compiled: Any, arrays: list[Any], options: Options, best_s: float) -> list[float]:
    """seconds of the timed runs; of a hopeless program of one"""
    from . import running
    for _ in range(options.warm_up):
        if running.run(compiled, arrays) > options.give_up * best_s:
            return [running.run(compiled, arrays)]
    return [running.run(compiled, arrays) for _ in range(options.runs)]


class _Launches:
    """Microseconds that starting a program takes, by how many arguments and results it has; each measured once in a session."""

    def __init__(self, devices: list[Any]) -> None:
        self._devices = devices
        self._known: dict[tuple[int, int], float] = {}

    def of(self, compiled: Any) -> float:
        from . import running
        key = (len(compiled.signature), compiled.results)
        if key not in self._known:
            nothing = running.Compiled(running.idle(len(self._devices), *key), self._devices)
            arrays = running.Inputs(self._devices).of(nothing)
            running.run(nothing, arrays)
            self._known[key] = statistics.median(running.run(nothing, arrays) for _ in range(20)) * 1e6
        return self._known[key]


def _head(archive: Archive) -> tuple[list[Any], dict[str, Any]]:
    # XLA for CPUs starts so many threads. With one a device, independent collectives that devices reach in another order hold all of them
    os.environ.setdefault("NPROC", str(8 * archive.devices))
    import jax
    found = jax.devices()
    if len(found) < archive.devices:
        raise ProfileError(f"the programs are for {archive.devices} devices, jax.devices() has {len(found)} ({found[0].platform}); on a CPU "
                           f"XLA_FLAGS=--xla_force_host_platform_device_count={archive.devices} makes them")
    devices = list(found[:archive.devices])
    return devices, {"platform": devices[0].platform, "kind": devices[0].device_kind, "devices": archive.devices, "jax": jax.__version__,
                     "flags": os.environ.get("XLA_FLAGS", "")}


def profile(archive: str | os.PathLike[str] | Archive, out: str = "profile.json", options: Options | None = None,
            say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Times what the log lacks, writes the profile to `out` and returns it. ProfileError, BadArchive."""
    from . import running
    archive = archive if isinstance(archive, Archive) else Archive(archive)
    options = options or Options()
    devices, head = _head(archive)
    log_path = options.log or out + ".log"
    log = read_log(log_path, head)
    if not os.path.exists(log_path):
        with open(log_path, "w") as file:
            file.write(json.dumps(head) + "\n")
    overlap = options.overlap if options.overlap is not None else head["platform"] != "cpu"
    left = [program for program in archive.programs
            if program.digest not in log or (_has_parts(program, options) and "alone_us" not in log[program.digest])][:options.limit]
    inputs, launches = running.Inputs(devices), _Launches(devices)
    best: dict[str, float] = {}
    for program in archive.programs:
        if program.digest in log:
            best[program.segment] = min(best.get(program.segment, math.inf), log[program.digest]["raw_us"] / 1e6)
    watch, start, segment = _Watch(options.hang_s, log_path), time.monotonic(), None
    for number, (program, executables) in enumerate(_compiled(left, archive, devices, options, overlap)):
        if program.segment != segment:
            segment = program.segment
            inputs.forget()
        compiled, seconds = executables[0], []
        for executable in executables:
            work = functools.partial(_time, executable, inputs.of(executable), options, best.get(program.segment, math.inf))
            seconds.append(watch.over(program, compiled.peak_bytes, work))
        middle, *alone = (statistics.median(of) for of in seconds)
        best[program.segment] = min(best.get(program.segment, math.inf), middle)
        row = {"digest": program.digest, "raw_us": round(middle * 1e6, 3), "runs": len(seconds[0]), "peak_bytes": compiled.peak_bytes,
               "launch_us": round(launches.of(compiled), 3), "compile_s": round(sum(of.seconds for of in executables), 3), "name": program.name}
        if alone:
            row["alone_us"] = round(alone[0] * 1e6, 3)
        with open(log_path, "a") as file:
            file.write(json.dumps(row) + "\n")
        log[program.digest] = row
        remaining = (time.monotonic() - start) / (number + 1) * (len(left) - number - 1)
        say(f"{number + 1}/{len(left)}  {program.name}: {middle * 1e3:.3f} ms, compiled in {row['compile_s']:.1f} s; "
            f"{remaining / 60:.1f} min left")
    return write_profile(out, archive, log, head)

"""What libtpu has decided before it generates code: memory and schedule of a module, read from its dump.

libtpu writes the scheduled module and the assignment of its buffers, and then spends half of a compile or more on the code of
each kernel. Nothing of that is asked here, so the compile is ended as soon as both are there. That also answers for programs that
do not fit: their assignment is written before libtpu refuses them.

    run         a compile in a process of its own, ended early
    assignment  bytes of arguments, outputs, aliases and temporaries in HBM, from the assignment's text
    module      the scheduled module's text
    pairs       its asynchronous collectives: what stands between start and done

Reads only files that libtpu wrote; ends only the process that it started.
"""
import re
import subprocess
import time

MAIN = "module_0000.*"      # libtpu numbers the modules of a compile; kernels that it takes out follow
ASSIGNMENT, MODULE = "after_optimizations-buffer-assignment.txt", "after_optimizations.txt"
READ = (ASSIGNMENT, MODULE, "after_optimizations-memory-usage-report.txt")   # the last one is written last, but for MODULE at times
ALLOCATION = re.compile(r"allocation \d+: size (\d+), (.*)")
POLL_SECONDS = 0.5


def flags(work):
    """flags of XLA that make libtpu write its dump"""
    return f"--xla_dump_to={work / 'dump'}", "--xla_dump_hlo_as_text"


def written(work, pattern):
    """the one file of the main module that has this name, or None"""
    return next(iter(sorted((work / "dump").glob(pattern))), None)


def sizes(work):
    """bytes of the files that are read here, 0 of those that are not there yet"""
    found = [written(work, MAIN + name) for name in READ]
    return [path.stat().st_size if path else 0 for path in found]


def run(command, environment, log, work):
    """True where the compile came as far as the assignment of buffers"""
    child = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    before = []
    while child.poll() is None:
        time.sleep(POLL_SECONDS)
        now = sizes(work)
        if all(now) and now == before:   # of a busy machine the module comes seconds after the assignment
            child.kill()
            child.wait()
        before = now
    return child.returncode == 0 or all(sizes(work))


def assignment(text):
    """{arguments, outputs, alias, temporaries} of the text of a buffer assignment: what lies in HBM, which has no color there"""
    said = dict.fromkeys(("arguments", "outputs", "alias", "temporaries"), 0)
    for line in text.splitlines():
        found = ALLOCATION.match(line)
        if not found or "color" in found[2]:
            continue
        size, words = int(found[1]), found[2]
        parameter, result = "parameter" in words, "maybe-live-out" in words
        said["arguments"] += size * parameter
        said["outputs"] += size * result
        said["alias"] += size * (parameter and result)
        said["temporaries"] += size * ("preallocated-temp" in words)
    return said


def memory(work):
    """the assignment of a compile's main module"""
    return assignment(written(work, MAIN + ASSIGNMENT).read_text())


def module(work):
    """the scheduled module of a compile, after every pass over it"""
    return written(work, MAIN + MODULE).read_text()

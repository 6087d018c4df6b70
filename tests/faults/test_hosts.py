#!/usr/bin/env python3
# label: service
# timeout: 300
"""Hosts that have too little: the kernel's own out-of-memory killer and its limit of processes, in a cgroup of the test's. What
it takes is counted as the host's doing; when there is enough again the job ends as if nothing had been.

Where no cgroup can be made (no root, no controller) those two are left out, and the test says so."""
import os
import pathlib
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults
import harness
import tree

T2B = harness.SOURCE / "tests" / "models" / "t2b_flat.mlir.gz"   # its search takes some 45 MB
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 4}]}, "device": "a100-40", "seed": 3, "budget": {"rollouts": 16},
           "memory_limit_bytes": 400_000_000_000}
FILES = {"memory": ("memory.limit_in_bytes", "memory.max"), "pids": ("pids.max", "pids.max")}   # versions 1 and 2


class Cgroup:
    """a cgroup with one limit, below the one that this process is in or (version 2) the nearest above that hands the controller
    down; None from make() when there can be none"""

    @staticmethod
    def parents(controller):
        """(version, folder) where one can be made"""
        for line in pathlib.Path("/proc/self/cgroup").read_text().split():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(","):
                yield 1, pathlib.Path("/sys/fs/cgroup", controller, path.strip("/"))
            if not controllers:
                mine = pathlib.PurePosixPath("/", path)
                for above in (mine, *mine.parents):
                    folder = pathlib.Path("/sys/fs/cgroup", str(above).strip("/"))
                    down = folder / "cgroup.subtree_control"
                    if down.exists() and controller in down.read_text().split():
                        yield 2, folder

    @staticmethod
    def make(controller):
        for version, parent in Cgroup.parents(controller):
            folder = parent / f"toast-test-{os.getpid()}-{controller}"
            try:
                folder.mkdir()
            except OSError:
                continue
            print(f"{controller}: cgroup version {version}", flush=True)
            return Cgroup(folder, FILES[controller][version - 1], "-1" if version == 1 and controller == "memory" else "max")
        return None

    def __init__(self, folder, file, without):
        self.folder, self.file, self.without = folder, file, without

    def take(self, pids):
        for pid in pids:
            (self.folder / "cgroup.procs").write_text(str(pid))

    def limit(self, value):
        (self.folder / self.file).write_text(self.without if value is None else str(value))

    def used(self):
        return int((self.folder / "pids.current").read_text())

    def remove(self):
        """once its processes have ended"""
        def gone():
            try:
                self.folder.rmdir()
                return True
            except OSError:
                return False
        faults.until("the cgroup is still used", gone)


def deaths(service):
    return {name[7:]: n for name, n in faults.counters(service).items() if name.startswith("deaths:")}


def hosts_only(service, job, times):
    """at least so many attempts were lost, all of them to the host, and the job goes on"""
    faults.until("the host takes nothing", lambda: sum(deaths(service).values()) >= times, 60)
    assert deaths(service).keys() <= {"host", "oom", "lease", "killed", "exit"}, deaths(service)
    assert faults.look(service, job)["state"] not in faults.ENDED
    print(deaths(service), flush=True)


def hurt(controller, value, say):
    """a worker in a cgroup with this limit (a function of the cgroup), a job that needs more, and then enough of it"""
    expected = faults.reference(T2B, REQUEST)
    cgroup = Cgroup.make(controller)
    if not cgroup:
        print(f"no cgroup with {controller} can be made here: not tried", flush=True)
        return
    service = harness.Service()
    try:
        worker = service.start_worker(options=["--child-memory", "0"])
        child = faults.until("no child", lambda: tree.children(worker.pid))[0]
        faults.until("no child at work", lambda: "Seccomp:\t2" in pathlib.Path(f"/proc/{child}/status").read_text())
        cgroup.take([worker.pid, *tree.family(worker.pid)])
        cgroup.limit(value(cgroup))
        job = faults.submit(service, T2B, REQUEST)
        hosts_only(service, job, 2)
        assert worker.poll() is None, "the worker itself was ended"
        cgroup.limit(None)
        body = faults.wait(service, job, 120)
        assert body["state"] == "succeeded", body
        assert not faults.differences(service, job, expected)
        log = (service.folder / "log").read_text()
        assert say in log, log[-2000:]
        faults.check(service, [job])
    finally:
        service.close()
        cgroup.remove()


def test_out_of_memory():
    hurt("memory", lambda cgroup: 26 << 20, "out-of-memory killer")


def test_no_processes():
    hurt("pids", lambda cgroup: cgroup.used(), "Resource temporarily unavailable")


def test_no_descriptors():
    """a worker that may have no more descriptors than it has (RLIMIT_NOFILE): nothing is called a limit of the job's"""
    expected = faults.references([0])
    service = harness.Service()
    try:
        worker = service.start_worker()
        faults.until("no child", lambda: tree.children(worker.pid))
        most = resource.prlimit(worker.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{worker.pid}/fd")) + 1, most))
        job = faults.submit(service, *faults.request(0))
        hosts_only(service, job, 1)
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (1024, most))
        body = faults.wait(service, job)
        assert body["state"] == "succeeded", body
        assert not faults.differences(service, job, expected[0])
        assert worker.poll() is None
        faults.check(service, [job])
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_out_of_memory, test_no_processes, test_no_descriptors])

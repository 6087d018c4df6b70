#!/usr/bin/env python3
# label: service
# timeout: 900
"""test_hosts.py under cgroups of version 2: the out-of-memory killer of memory.max and the limit of pids.max, by a kernel of its own.

A machine has the controllers in one version, so what the machine at hand does not have is tried in a Linux that runs as a
process here (Debian's user-mode-linux), on this machine's files. Left out where that is not installed, or does not start."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE, BIN = (pathlib.Path(os.environ[name]).resolve() for name in ("TOAST_SOURCE", "TOAST_BIN"))
SLOW = int(os.environ.get("TOAST_TEST_SLOW", "1"))
INIT = """#!/bin/sh
export PATH={path} HOME={home}
mount -t proc proc /proc && mount -t sysfs sys /sys
mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /run
mount -t cgroup2 none /sys/fs/cgroup && echo "+memory +pids" > /sys/fs/cgroup/cgroup.subtree_control
ip link set lo up
mkdir -p /dev/shm/tmp
cd {source} && echo UP
TMPDIR=/dev/shm/tmp TOAST_BIN={bin} TOAST_SOURCE={source} TOAST_TEST_SLOW={slow} {python} tests/faults/test_hosts.py
echo ENDED $?
poweroff -f
"""


def main():
    kernel = shutil.which("linux.uml")
    if not kernel:
        print("left out: apt-get install user-mode-linux")
        return 77
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None   # which that kernel covers with its own
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=memory) as memory:
        init = pathlib.Path(folder, "init")
        init.write_text(INIT.format(path=os.environ["PATH"], home=os.environ.get("HOME", "/"), source=SOURCE, bin=BIN, slow=3 * SLOW,
                                    python=sys.executable))
        init.chmod(0o755)
        command = [kernel, "mem=1500M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", f"init={init}", "con=null",
                   "con0=fd:0,fd:1", "quiet"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", env=dict(os.environ, TMPDIR=memory), start_new_session=True)
        try:
            said, _ = process.communicate(timeout=850 * SLOW)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)   # a kernel and its processes
            said, _ = process.communicate()
    print(said)
    if "\nUP" not in said:
        print("left out: it does not start here")
        return 77
    lines = said.splitlines()
    return 0 if "ENDED 0" in lines and all(f"{name}: cgroup version 2" in lines for name in ("memory", "pids")) else 1


if __name__ == "__main__":
    sys.exit(main())

"""What the clients' tests share: the right Python, eight CPU devices, the package of this tree, comparisons.

enter(WHICH) runs the calling script again with the Python of one list of wheels: "truth" (the newest JAX), "oldest" (0.4.38),
"models" (flax, optax, equinox, haiku), "torch" (torch_xla); $TOAST_PYTHON, $TOAST_OLDEST_PYTHON, $TOAST_MODELS_PYTHON and
$TOAST_TORCH_PYTHON name ready ones. That of torch takes 6 GB, so it is not made here but by scripts/check: without one its test is skipped (status 77).
"""
import os
import subprocess
import sys

SOURCE = os.environ.get("TOAST_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("TOAST_BIN") or os.path.join(SOURCE, "build", "release", "bin")
VENVS = {"truth": ("TOAST_PYTHON", ".venv"), "oldest": ("TOAST_OLDEST_PYTHON", ".venv-oldest"),
         "models": ("TOAST_MODELS_PYTHON", ".venv-models"), "torch": ("TOAST_TORCH_PYTHON", ".venv-torch")}


def python_of(which):
    variable, folder = VENVS[which]
    if os.environ.get(variable):
        return os.environ[variable]
    if which == "torch":
        ready = os.path.join(SOURCE, folder, "bin", "python")
        if not os.path.exists(ready):
            print(f"skipped: no {folder} and no ${variable} (scripts/requirements-torch.txt says how to make one)")
            sys.exit(77)
        return ready
    environment = dict(os.environ) if which == "truth" else dict(os.environ, TOAST_VENV=os.path.join(SOURCE, folder))
    return subprocess.run([os.path.join(SOURCE, "scripts", "truth-venv"),
                           os.path.join(SOURCE, "scripts", f"requirements-{which}.txt")], check=True, env=environment,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def environment():
    """of processes that use the package on eight CPU devices"""
    package = os.path.join(SOURCE, "clients", "python", "src")
    flags = os.environ.get("XLA_FLAGS", "")
    if "device_count" not in flags:
        flags += " --xla_force_host_platform_device_count=8"
    # independent collectives reach devices in any order, and XLA has one thread a device or core: a thread waits in one collective each until none is left
    threads = os.environ.get("NPROC", "64")
    return dict(os.environ, TOAST_BIN=BIN, JAX_PLATFORMS="cpu", NPROC=threads, XLA_FLAGS=flags.strip(),
                PYTHONPATH=os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])))


def enter(which="truth"):
    if os.environ.get("TOAST_CLIENT_TEST") == which:
        return
    os.execve(python_of(which), [python_of(which), *sys.argv], dict(environment(), TOAST_CLIENT_TEST=which))


def run_all(*tests):
    """calls them; says which; returns the exit status"""
    for function in tests:
        function()
        print(f"ok {function.__name__}", flush=True)
    return 0

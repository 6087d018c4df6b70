"""Compiles a sharded module ahead of time for devices that are not there, in a process of its own.

XLA reads its flags once and logs to the process's standard error, so each compile is a child: `python -m
toast_referee.compilers gpu|tpu FILE MESH ..` leaves in a folder

    log           XLA's and the schedulers' log
    final.hlo     the module after every pass, in the order of the schedule
    memory.json   bytes of arguments, outputs, aliases, temporaries and the seconds that it took

which schedule.py and modules.py read; of libtpu they are made from its dump (libtpu.py), before it generates code. Devices of the mesh are numbered row-major over its axes, as a plan's modules
have it; a host's devices follow one another. libtpu allows one process at a time: a lock file sees to it.

Never runs what it compiled and touches no GPU or TPU, but for kind "here".
"""
import argparse
import fcntl
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from . import devices, libtpu, modules, schedule

# what makes XLA:GPU reproducible here, overlapping, and talkative:
GPU_FLAGS = (
    "--xla_gpu_autotune_level=0",                               # nothing to tune on
    "--xla_gpu_enable_latency_hiding_scheduler=true",           # off by default; who wants overlap turns it on
    "--xla_gpu_enable_analytical_sol_latency_estimator=true",   # its tables of H100 collectives and matmuls
    "--xla_gpu_collect_cost_model_stats=true",                  # costs of every kernel in the final module
    "--xla_gpu_experimental_force_split_k=1",                   # the matmul table prices a split-K dot 60 times too slow
    "--xla_llvm_disable_expensive_passes=true",                 # code that nobody runs
)
GPU_LOG = "latency_hiding_scheduler=1,gpu_hlo_schedule=2,sol_latency_estimator=10"
TPU_ENVIRONMENT = {"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-8",
                   "TPU_WORKER_HOSTNAMES": "localhost", "TPU_VMODULE": "latency_hiding_scheduler=1", "TPU_STDERR_LOG_LEVEL": "0",
                   "TPU_MIN_LOG_LEVEL": "0"}
PACKAGES = {"gpu": "jax[cuda12]==0.10.2", "tpu": "jax==0.10.2 libtpu==0.0.51", "here": "jax"}


class Refused(Exception):
    """the compiler is not there, or it refused the module; the text is its own last words"""


def parse_mesh(text):
    """'data=4,model=4' -> {'data': 4, 'model': 4}, outermost axis first"""
    return {axis: int(size) for axis, size in (item.split("=") for item in text.split(","))}


# ---------------------------------------------------------------- in the child
def options_for(ids):
    import numpy
    from jaxlib import xla_client

    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 1, len(ids)
    build = options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    options.device_assignment = xla_client.DeviceAssignment.create(numpy.array(ids).reshape(1, len(ids)))
    return options


def gpu_devices(count, gpu, host):
    from jax._src import xla_bridge

    shape = f"1x{max(1, count // host)}x{min(count, host)}"   # slices x hosts x devices of a host
    topology = xla_bridge.make_pjrt_topology("cuda", gpu, target_config=devices.describe(devices.GPUS[gpu]), topology=shape)
    return topology._make_compile_only_devices()


def tpu_devices(mesh, topology):
    from jax._src import xla_bridge
    from jax.experimental import mesh_utils

    found = xla_bridge.make_pjrt_tpu_topology(topology)._make_compile_only_devices()
    return list(mesh_utils.create_device_mesh(tuple(mesh.values()), found).flat) if len(found) == math.prod(mesh.values()) else found


def memory_of(executable):
    stats = executable.get_compiled_memory_stats()
    return {"arguments": stats.argument_size_in_bytes, "outputs": stats.output_size_in_bytes, "alias": stats.alias_size_in_bytes,
            "temporaries": stats.temp_size_in_bytes}


def child(arguments):
    mesh = parse_mesh(arguments.mesh)
    count = math.prod(mesh.values())
    targets = gpu_devices(count, arguments.target, arguments.host) if arguments.kind == "gpu" else tpu_devices(mesh, arguments.target)
    if len(targets) != count:
        sys.exit(f"{arguments.target} has {len(targets)} devices, the mesh has {count}")
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    context = mlir.make_ir_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.parse(pathlib.Path(arguments.file).read_text())
        start = time.time()
        executable = targets[0].client.compile(module, executable_devices=xla_client.DeviceList(tuple(targets)),
                                               compile_options=options_for([d.id for d in targets]))
        seconds = time.time() - start
    work = pathlib.Path(arguments.work)
    if arguments.kind == "tpu":
        return   # its dump says everything; this JAX cannot read every module of libtpu's (asynchronous ops of several operands)
    (work / "final.hlo").write_text(executable.hlo_modules()[0].to_string())
    (work / "memory.json").write_text(json.dumps(memory_of(executable) | {"seconds": seconds}))


# ---------------------------------------------------------------- in the parent
def environment(kind, target, flags):
    package = str(pathlib.Path(__file__).resolve().parents[1])
    found = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])))
    if kind == "here":   # the user's platform and flags
        return found | ({"XLA_FLAGS": " ".join([os.environ.get("XLA_FLAGS", ""), *flags])} if flags else {})
    found |= {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "0"}
    if kind == "gpu":
        known = [flag for flag in GPU_FLAGS if devices.GPUS[target].has_times or "cost_model_stats" not in flag]
        return found | {"XLA_FLAGS": " ".join([*known, *flags]), "TF_CPP_VMODULE": GPU_LOG}
    return found | TPU_ENVIRONMENT | {"XLA_FLAGS": " ".join(flags)}


def run_child(kind, file, mesh, target, host, work, flags, python):
    command = [python, "-m", "toast_referee.compilers", kind, str(file), mesh, target, str(work), "--host", str(host)]
    if kind == "here":
        command = [python, "-m", "toast_referee.timing", str(file), mesh, str(work)]
    with open(work / "log", "w") as log, open(os.path.join(tempfile.gettempdir(), "toast-referee-libtpu.lock"), "w") as lock:
        if kind == "tpu":
            fcntl.flock(lock, fcntl.LOCK_EX)
        start = time.time()
        if kind == "tpu":
            done = libtpu.run(command, environment(kind, target, [*libtpu.flags(work), *flags]), log, work)
        else:
            done = subprocess.run(command, stdout=log, stderr=log, env=environment(kind, target, flags)).returncode == 0
    if done and kind == "tpu":
        (work / "final.hlo").write_text(libtpu.module(work))
        (work / "memory.json").write_text(json.dumps(libtpu.memory(work) | {"seconds": time.time() - start}))
    if not done:
        words = (work / "log").read_text(errors="replace")
        missing = "No module named" in words or "Unable to initialize backend" in words or "libtpu.so" in words
        raise Refused((f"is {PACKAGES[kind]} installed? " if missing else "") + words[-1500:])


def compile_module(kind, file, mesh, target, host=8, flags=(), work=None, python=sys.executable):
    """What the compiler says of a manual or annotated module: a dictionary of

    seconds, arguments, outputs, alias, temporaries, peak (bytes), collectives (modules.py), and for a GPU with times
    step_us, exposed_us, matmul_us, other_us, unpriced_us, communication_us.

    kind      gpu, tpu, or here: compiled and run on this machine's own devices (timing.py), step_us is measured
    mesh      text, outermost axis first
    target    a GPU of devices.py, or a TPU topology: v5p:2x2x4; of no meaning here
    host      GPUs of a host
    work      a folder that keeps log, module and memory.json; without one they go

    Raises Refused where the compiler is missing or refuses."""
    with tempfile.TemporaryDirectory(prefix="toast-referee-") as folder:
        work = pathlib.Path(work or folder)
        work.mkdir(parents=True, exist_ok=True)
        run_child(kind, file, mesh, target, host, work, flags, python)
        said = json.loads((work / "memory.json").read_text())
        said["peak"] = said["arguments"] + said["outputs"] - said["alias"] + said["temporaries"]
        if kind == "here":
            return said
        text = (work / "final.hlo").read_text()
        said["collectives"] = modules.collectives(text)
        if kind == "gpu" and devices.GPUS[target].has_times:
            with open(work / "log", errors="replace") as log:
                said.update(schedule.read(log, modules.trips(text)))
            said.update(modules.times(text, devices.GPUS[target].bandwidth_bytes, said.pop("scheduled")))
            scheduled, unscheduled = said.pop("scheduled_us"), said.pop("unscheduled_us")
            serial = said["matmul_us"] + said["other_us"]
            said["step_us"] = (serial if scheduled is None else scheduled + unscheduled) + said["unpriced_us"]
        return said


def main():
    parser = argparse.ArgumentParser(prog="python -m toast_referee.compilers")
    parser.add_argument("kind", choices=("gpu", "tpu"))
    for name in ("file", "mesh", "target", "work"):
        parser.add_argument(name)
    parser.add_argument("--host", type=int, default=8)
    child(parser.parse_args())


if __name__ == "__main__":
    main()

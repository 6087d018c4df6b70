"""Times a sharded module on the accelerators of this machine: compiled by the user's own XLA, run, the median of the runs.

A process of its own (`python -m toast_referee.timing FILE MESH WORK`), so that flags, platform and memory are its own. It leaves
memory.json as compilers.py does, with the seconds of each run. Inputs are zeros (integers, too: an index that is in range), made
anew for each run, as donated ones are gone; making them is not timed. Zeros cost a matmul on a GPU less power than data do, so
clocks may be higher than in training: compare plans with plans, not with a training run.

It runs the module it is given: only give it modules of your own.
"""
import argparse
import json
import math
import pathlib
import statistics
import time

from . import compilers

WARM_UP, RUNS = 2, 5


def signature(module):
    """[(shape, numpy type)] of main's arguments"""
    import numpy
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    known = {str(mlir.dtype_to_ir_type(numpy.dtype(kind))): numpy.dtype(kind)
             for kind in ("float32", "float64", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")}
    main = next(op for op in module.body.operations
                if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main")
    types = [ir.RankedTensorType(kind) for kind in ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).inputs]
    return [(tuple(kind.shape), known[str(kind.element_type)]) for kind in types]


def zeros(arguments, shardings, devices):
    """one array a global argument, sharded as the compiled program takes it"""
    import jax
    import numpy
    from jax._src.sharding_impls import GSPMDSharding

    made = []
    for (shape, kind), sharding in zip(arguments, shardings, strict=True):
        def part(index, shape=shape, kind=kind):
            extents = [len(range(*piece.indices(extent))) for piece, extent in zip(index, shape, strict=True)]
            return numpy.zeros(extents, kind)
        made.append(jax.make_array_from_callback(shape, GSPMDSharding(devices, sharding), part))
    return jax.block_until_ready(made)


def time_runs(executable, arguments, devices):
    """seconds of RUNS runs, after WARM_UP that are not counted"""
    import jax

    seconds = []
    for _ in range(WARM_UP + RUNS):
        inputs = zeros(arguments, executable.get_parameter_shardings(), devices)
        start = time.perf_counter()
        jax.block_until_ready(executable.execute_sharded(inputs).disassemble_into_single_device_arrays())
        seconds.append(time.perf_counter() - start)
    return seconds[WARM_UP:]


def main():
    parser = argparse.ArgumentParser(prog="python -m toast_referee.timing")
    for name in ("file", "mesh", "work"):
        parser.add_argument(name)
    options = parser.parse_args()
    import jax
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    jax.config.update("jax_enable_x64", True)
    count = math.prod(compilers.parse_mesh(options.mesh).values())
    devices = jax.devices()[:count]
    if len(devices) < count:
        raise SystemExit(f"the mesh has {count} devices, this machine has {len(devices)}")
    context = mlir.make_ir_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.parse(pathlib.Path(options.file).read_text())
        arguments = signature(module)
        start = time.perf_counter()
        executable = devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)),
                                                        compilers.options_for([device.id for device in devices]))
        seconds = time.perf_counter() - start
    said = compilers.memory_of(executable) | {"seconds": seconds, "runs_s": time_runs(executable, arguments, devices)}
    said["step_us"] = statistics.median(said["runs_s"]) * 1e6
    (pathlib.Path(options.work) / "memory.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main()

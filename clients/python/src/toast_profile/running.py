"""A program compiled for devices and run on them: all that touches JAX's and XLA's insides.

Inputs are the same for every run of a signature: floats uniform in [0.1, 1), which no root or logarithm minds and which are no
denormals; integers 0, an index that is in range. They are made once for each shape, type and sharding, as nothing is donated.
"""
from __future__ import annotations

import time
from typing import Any, cast

import jax
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jax._src.sharding_impls import GSPMDSharding
from jaxlib import xla_client
from jaxlib.mlir import ir

from .apart import without_collectives

_NUMPY = ("float32", "float64", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "complex64", "complex128")
_DONATION = ("tf.aliasing_output", "jax.buffer_donor")


class Unprofilable(Exception):
    """what the compiler or this JAX has to say against a program"""


def _options(devices: list[Any]) -> Any:
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 1, len(devices)
    build = options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    ids = np.array([device.id for device in devices]).reshape(1, len(devices))
    options.device_assignment = xla_client.DeviceAssignment.create(ids)
    return options


def _main(module: Any) -> Any:
    return next(op for op in module.body.operations
                if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main")


def _keep_arguments(main: Any) -> None:
    """Donates nothing: inputs serve every run, and arguments alike are one array; donated twice, it would end the process."""
    if "arg_attrs" in main.attributes:
        kept = [{entry.name: entry.attr for entry in cast(Any, ir.DictAttr(of)) if entry.name not in _DONATION}
                for of in ir.ArrayAttr(main.attributes["arg_attrs"])]
        main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(of) for of in kept])


def _signature(main: Any) -> list[tuple[tuple[int, ...], Any]]:
    known = {str(jax_mlir.dtype_to_ir_type(np.dtype(kind))): np.dtype(kind)
             for kind in (jax.numpy.bfloat16 if name == "bfloat16" else name for name in _NUMPY)}
    types = [ir.RankedTensorType(kind) for kind in ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).inputs]
    return [(tuple(kind.shape), known[str(kind.element_type)]) for kind in types]


class Compiled:
    """An executable with the bytes that it takes on a device and the seconds that compiling took; alone: without its collectives."""

    def __init__(self, text: str, devices: list[Any], alone: bool = False) -> None:
        start = time.perf_counter()
        try:
            with jax_mlir.make_ir_context() as context, ir.Location.unknown(context):
                module = ir.Module.parse(text)
                main = _main(module)
                self.signature = _signature(main)
                self.results = len(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
                _keep_arguments(main)
                if alone:
                    without_collectives(module)
                self.executable = devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), _options(devices))
        except (AttributeError, KeyError) as error:
            raise Unprofilable(f"JAX {jax.__version__} cannot compile a module as toast-profile does: {error}") from error
        except Exception as error:      # XLA's own errors have no common class
            raise Unprofilable(str(error)[:800]) from error
        self.seconds = time.perf_counter() - start
        stats = self.executable.get_compiled_memory_stats()
        self.peak_bytes = int(stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
                              + stats.temp_size_in_bytes)


class Inputs:
    """Arrays by shape, type and sharding."""

    def __init__(self, devices: list[Any]) -> None:
        self._devices = tuple(devices)
        self._made: dict[tuple[Any, ...], Any] = {}

    def of(self, compiled: Compiled) -> list[Any]:
        shardings = compiled.executable.get_parameter_shardings()
        return [self._one(shape, kind, sharding) for (shape, kind), sharding in zip(compiled.signature, shardings, strict=True)]

    def _one(self, shape: tuple[int, ...], kind: Any, sharding: Any) -> Any:
        key = (shape, kind.name, str(sharding))
        if key not in self._made:
            rng = np.random.default_rng(len(shape))

            def part(index: tuple[slice, ...] | None) -> Any:
                assert index is not None
                extents = [len(range(*piece.indices(extent))) for piece, extent in zip(index, shape, strict=True)]
                if kind.kind in "iub":
                    return np.zeros(extents, kind)
                return (0.1 + 0.9 * rng.random(extents, np.float32)).astype(kind)
            self._made[key] = jax.make_array_from_callback(shape, GSPMDSharding(self._devices, sharding), part)
        return self._made[key]

    def forget(self) -> None:
        self._made.clear()


def run(compiled: Compiled, arrays: list[Any]) -> float:
    """seconds of one run, to the last result on the last device"""
    start = time.perf_counter()
    jax.block_until_ready(compiled.executable.execute_sharded(arrays).disassemble_into_single_device_arrays())
    return time.perf_counter() - start


def idle(devices: int, arguments: int, results: int) -> str:
    """a program that does nothing with so many arguments and results: what starting one takes, which grows with both"""
    arguments = max(1, arguments)
    named = ", ".join(f"%arg{i}: tensor<f32>" for i in range(arguments))
    types, values = ", ".join(["tensor<f32>"] * results), ", ".join(f"%arg{i % arguments}" for i in range(results))
    return (f'module @idle attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{\n'
            f"  func.func public @main({named}) -> ({types}) {{\n    return {values}{' : ' if results else ''}{types}\n  }}\n}}\n")

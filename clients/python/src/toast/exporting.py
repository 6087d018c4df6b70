"""JAX: a function and its arguments to module text, and an annotated module back to something that jit compiles.

The way back replaces the module of a jax.export.Exported. Two kinds of JAX: those whose Exported has named shardings take
Shardy's attributes as they are, as plain MLIR bytecode; older ones (0.4.38) partition by GSPMD, so the same shardings are
written as HLO's (gspmd.py). Fields are looked up by name; a JAX that has others is refused. Promises: nothing is compiled
or run here, abstract arguments (ShapeDtypeStruct) are enough. Never changes jax.config.
"""
from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.interpreters import mlir as jax_mlir
from jax.sharding import NamedSharding

from . import gspmd
from .errors import ArgumentsChanged, LoweringError, UnsupportedJax
from .names import Leaf, parameter_names


@dataclasses.dataclass(frozen=True)
class Step:
    """A lowered function."""
    exported: Any                   # jax.export.Exported
    text: str                       # StableHLO with locations
    digest: str                     # SHA-256 of the text without locations
    leaves: list[Leaf]              # of the arguments
    kept: tuple[int, ...]           # leaves that the module has as arguments, in order
    donated: tuple[int, ...]        # arguments (not leaves) whose buffers the function takes

    @property
    def name(self) -> str:
        return str(self.exported.fun_name)


def _key_text(key: Any) -> str:
    for field in ("key", "idx", "name"):
        if hasattr(key, field):
            return str(getattr(key, field))
    return str(key).strip(".[]'\"")


def leaves_of(function: Callable[..., Any], args: Sequence[Any]) -> list[Leaf]:
    """Every leaf of the arguments, in JAX's order."""
    roots = parameter_names(function, len(args))
    paths, _ = jax.tree_util.tree_flatten_with_path(tuple(args))
    out: list[Leaf] = []
    taken: set[str] = set()
    for index, (path, leaf) in enumerate(paths):
        keys = [_key_text(key) for key in path]
        name = "/".join([roots[int(keys[0])], *keys[1:]])
        if name in taken:
            name = f"{name}@{index}"
        taken.add(name)
        aval = jax.api_util.shaped_abstractify(leaf)
        out.append(Leaf(name, "/".join(keys), jax.tree_util.keystr(path), tuple(aval.shape), str(aval.dtype)))
    return out


def _export_module() -> Any:
    try:
        import jax.export
    except ModuleNotFoundError as error:
        raise UnsupportedJax(f"jax.export of JAX {jax.__version__} needs '{error.name}': pip install "
                             f"{'absl-py' if error.name == 'absl' else error.name}") from error
    return jax.export


def _without_locations(text: str) -> str:
    ir = _ir()
    with _context(ir) as context:
        context.allow_unregistered_dialects = True
        out: str = ir.Module.parse(text).operation.get_asm(enable_debug_info=False)
    return out


def _ir() -> Any:
    from jax.extend.mlir import ir
    return ir


def _context(ir: Any) -> Any:
    return jax_mlir.make_ir_context() if hasattr(jax_mlir, "make_ir_context") else ir.Context()


def _no_array(function: Callable[..., Any], args: Sequence[Any]) -> str | None:
    """Which of the arguments' leaves is nothing that JAX traces, and what to do; None when all are."""
    roots = parameter_names(function, len(args))
    for path, leaf in jax.tree_util.tree_flatten_with_path(tuple(args))[0]:
        try:
            jax.api_util.shaped_abstractify(leaf)
        except TypeError:
            keys = [_key_text(key) for key in path]
            what = f"argument {'/'.join([roots[int(keys[0])], *keys[1:]])} is a {type(leaf).__name__}, no array"
            if len(path) == 1:
                return f"{what}: bind it, toast.plan(functools.partial(step, ..), ..), or register its class as a pytree"
            return f"{what}: leave it out of what is planned (equinox: eqx.partition(model, eqx.is_array), and eqx.combine in the step)"
    return None


def _traced(jitted: Any, function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What the function itself raises is the caller's."""
    try:
        return jitted.trace(*args)
    except TypeError as error:
        told = _no_array(_inner(function), args)
        if told is None:
            raise
        raise LoweringError(f"{getattr(function, '__name__', function)}: {told}") from error


def lower(function: Callable[..., Any], args: Sequence[Any], platform: str | None = None) -> Step:
    """Lowers `function` (jitted or not) for one device, or for the devices that its own shardings name."""
    export = _export_module()
    jitted = function if hasattr(function, "lower") and hasattr(function, "trace") else jax.jit(function)
    name = getattr(function, "__name__", function)
    traced = _traced(jitted, function, args)
    if not hasattr(traced, "args_info"):
        raise LoweringError(f"{name} is a {type(function).__module__}.{type(function).__name__}, not what jax.jit makes: plan the function that it wraps, "
                            "with arguments and results that are trees of arrays (nnx.split, nnx.merge)")
    try:
        exported = export.export(jitted, platforms=[platform] if platform else None)(*args)
    except (NotImplementedError, ValueError) as error:
        hint = ("; jax.debug.print, pure_callback and io_callback call back into this process: plan the step without them"
                if "callback" in str(error) else "")
        raise LoweringError(f"{name}: JAX cannot export this function: {error}{hint}") from error
    wanted = jax.tree_util.tree_structure((tuple(args), {}))
    if exported.in_tree != wanted:
        raise LoweringError(f"{exported.fun_name} has static arguments: bind them first, toast.plan(functools.partial(step, ..), ..)")
    if exported.ordered_effects:
        raise LoweringError(f"{exported.fun_name} has ordered effects ({exported.ordered_effects}), such as io_callback(ordered=True) "
                            "or debug.print(ordered=True): leave them out of what is planned")
    flags = [jax.tree_util.tree_leaves(arg, is_leaf=lambda x: hasattr(x, "donated")) for arg in traced.args_info[0]]
    donated = tuple(i for i, leaves in enumerate(flags) if any(leaf.donated for leaf in leaves))
    text = exported.mlir_module()
    digest = hashlib.sha256(_without_locations(text).encode()).hexdigest()
    return Step(exported, text, digest, leaves_of(_inner(function), args), tuple(exported.module_kept_var_idx), donated)


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial) and not function.args:
        function = function.func
    return getattr(function, "__wrapped__", function)


def _bytecode(text: str) -> bytes:
    ir = _ir()
    out = io.BytesIO()
    with _context(ir):
        ir.Module.parse(text).operation.write_bytecode(out)
    return out.getvalue()


def runnable(step: Step, annotated: str, axes: dict[str, int]) -> Any:
    """The Exported whose module is the annotated one; its `.call` goes into jax.jit with the plan's shardings."""
    fields = {field.name for field in dataclasses.fields(step.exported)}
    if "mlir_module_serialized" not in fields or "nr_devices" not in fields:
        raise UnsupportedJax(f"jax.export.Exported of JAX {jax.__version__} has not the fields that plan.jit() needs; "
                             "plan.in_shardings and annotated.mlir are there all the same")
    if "_in_named_shardings" in fields:
        return dataclasses.replace(step.exported, mlir_module_serialized=_bytecode(annotated))
    if getattr(jax.config, "jax_use_shardy_partitioner", False):
        raise UnsupportedJax(f"JAX {jax.__version__} cannot call exported modules under jax_use_shardy_partitioner: turn that off "
                             "(the plan is then written in GSPMD's shardings), or use a newer JAX")
    count = 1
    for size in axes.values():
        count *= size
    return dataclasses.replace(step.exported, mlir_module_serialized=_portable(gspmd.module(annotated, axes)), nr_devices=count)


def _portable(text: str) -> bytes:
    from jax.extend.mlir.dialects import stablehlo
    ir = _ir()
    with _context(ir):
        module = ir.Module.parse(text)
        version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)
        out: bytes = stablehlo.serialize_portable_artifact(module, version)
    return out


def changes(step: Step, args: Sequence[Any]) -> str | None:
    """What is different in the arguments from those that were planned; None when nothing is."""
    planned, given = step.exported.in_tree, jax.tree_util.tree_structure((tuple(args), {}))
    if planned != given:
        before = {leaf.keystr for leaf in step.leaves}
        after = {jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(tuple(args))[0]}
        gone, new = sorted(before - after)[:3], sorted(after - before)[:3]
        said = [f"{label} {', '.join(keys)}" for label, keys in (("without", gone), ("new:", new)) if keys]
        return "the structure of the arguments has changed: " + ("; ".join(said) or f"{given} instead of {planned}")
    for leaf, value in zip(step.leaves, jax.tree_util.tree_leaves(tuple(args)), strict=True):
        aval = jax.api_util.shaped_abstractify(value)
        if tuple(aval.shape) != leaf.shape or str(aval.dtype) != leaf.dtype:
            return f"argument {leaf} was planned; now it is {aval.dtype}[{','.join(map(str, aval.shape))}]"
    return None


class Planned:
    """A planned function: call it as the original. Arguments that lie elsewhere are moved to where the plan wants them."""

    def __init__(self, step: Step, exported: Any, in_shardings: tuple[Any, ...], out_shardings: Any) -> None:
        self._step = step
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.jitted = jax.jit(exported.call, in_shardings=in_shardings, out_shardings=out_shardings, donate_argnums=step.donated)

    def _check(self, args: Sequence[Any], error: Exception | None) -> None:
        changed = changes(self._step, args)
        if changed:
            raise ArgumentsChanged(f"{self._step.name}: {changed}. Plan again with these arguments (toast.plan)") from error

    def put(self, *args: Any) -> Any:
        """The arguments, each where the plan wants it."""
        self._check(args, None)
        return jax.device_put(args, self.in_shardings)

    def lower(self, *args: Any) -> Any:
        self._check(args, None)
        return self.jitted.lower(*args)

    def __call__(self, *args: Any) -> Any:
        try:
            return self.jitted(*args)
        except (TypeError, ValueError) as error:
            self._check(args, error)
            leaves, wanted = jax.tree_util.tree_leaves(args), jax.tree_util.tree_leaves(self.in_shardings)
            if all(_lies(leaf, sharding) for leaf, sharding in zip(leaves, wanted, strict=True)):
                raise
        return self.jitted(*self.put(*args))


def _lies(leaf: Any, sharding: NamedSharding) -> bool:
    return not isinstance(leaf, jax.Array) or leaf.sharding.is_equivalent_to(sharding, leaf.ndim)

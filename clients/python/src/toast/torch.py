"""TOAST for torch_xla: a training step to a plan, and a plan onto a model (SPMD, `mark_sharding`).

    plan = toast.torch.plan(step, model, optimizer, x, y, mesh={"data": 4, "model": 2}, device="v5p")
    plan.apply(model, optimizer)
    loss = step(model, optimizer, *plan.shard(x, y))

The step is traced, lazily, on copies of what it is given: nothing of it runs, and neither model nor optimizer changes. What
it updates in place is donated, as torch_xla does it. Parameters have the names of `named_parameters()`; optimizer state is
called after them, `exp_avg/layers.0.wq.weight`. Promises: shapes and types are all that is looked at. Never marks anything
before `apply` is called. Inside the step norms are sums and what the plan gathers is gathered once (torch_inside.py); the rest
is XLA's propagation from parameters, state and inputs.
"""
from __future__ import annotations

import copy
import dataclasses
import functools
import math
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.spmd as spmd
import torch_xla.runtime as runtime
from torch.utils import _pytree as pytree

from . import gspmd, names, progress as progress_of, requests, torch_inside
from .errors import ArgumentsChanged, LoweringError, MeshError, PlanMismatch
from .names import Dims, Leaf
from .report import PlanFiles

Spec = tuple[Any, ...]      # one entry a dimension: None, an axis, or a tuple of axes, major first


# ---- what a step works on
@dataclasses.dataclass(frozen=True)
class _Slot:
    """One tensor among the arguments, and how it is put back."""
    name: str
    tensor: torch.Tensor
    put: Callable[[torch.Tensor], None] | None      # None: an input, which is replaced where it stands


def _module_slots(prefix: str, module: torch.nn.Module) -> Iterator[_Slot]:
    def putter(tensor: torch.Tensor) -> Callable[[torch.Tensor], None]:
        def put(value: torch.Tensor) -> None:
            tensor.data = value
        return put
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        yield _Slot(prefix + name, tensor, putter(tensor))


def _state_slots(prefix: str, optimizer: torch.optim.Optimizer, called: Mapping[int, str]) -> Iterator[_Slot]:
    def putter(state: dict[str, Any], key: str) -> Callable[[torch.Tensor], None]:
        def put(value: torch.Tensor) -> None:
            state[key] = value
        return put
    for group, each in enumerate(optimizer.param_groups):
        for place, parameter in enumerate(each["params"]):
            state = optimizer.state.get(parameter) or {}
            of = called.get(id(parameter), f"{group}/{place}")
            for key, value in state.items():
                if isinstance(value, torch.Tensor) and value.device.type == "xla":
                    yield _Slot(f"{prefix}{key}/{of}", value, putter(state, key))


def _slots(args: Sequence[Any], roots: Sequence[str]) -> list[_Slot]:
    """Every tensor on the accelerator: of modules, of optimizers, and tensors themselves, in this order, each once."""
    modules = [(root, arg) for root, arg in zip(roots, args) if isinstance(arg, torch.nn.Module)]
    optimizers = [(root, arg) for root, arg in zip(roots, args) if isinstance(arg, torch.optim.Optimizer)]
    out: list[_Slot] = []
    for root, module in modules:
        out += _module_slots("" if len(modules) == 1 else f"{root}/", module)
    called = {id(slot.tensor): slot.name for slot in out}
    for root, optimizer in optimizers:
        out += _state_slots("" if len(optimizers) == 1 else f"{root}/", optimizer, called)
    for root, arg in zip(roots, args):
        if not isinstance(arg, (torch.nn.Module, torch.optim.Optimizer)):
            leaves = [leaf for leaf in pytree.tree_leaves(arg) if isinstance(leaf, torch.Tensor)]
            out += [_Slot(root if len(leaves) == 1 else f"{root}/{k}", leaf, None) for k, leaf in enumerate(leaves)]
    seen: set[int] = set()
    return [slot for slot in out if id(slot.tensor) not in seen and not seen.add(id(slot.tensor))]    # type: ignore[func-returns-value]


def _modules(args: Sequence[Any]) -> list[torch.nn.Module]:
    return [arg for arg in args if isinstance(arg, torch.nn.Module)]


def _placeholder(tensor: torch.Tensor) -> torch.Tensor:
    """Data on the device of the same shape and type, which is an argument of whatever is traced next."""
    return torch.zeros(tensor.shape, dtype=tensor.dtype).to(tensor.device)


# ---- lowering
@dataclasses.dataclass(frozen=True)
class Step:
    """A traced step: its module, and the leaf behind each of the module's arguments."""
    name: str
    text: str
    leaves: list[Leaf]          # arguments of the module, in order; those that torch_xla makes itself are called `constant/N`


def _on_device(args: Sequence[Any], name: str) -> None:
    for arg in args:
        tensors = [*arg.parameters(), *arg.buffers()] if isinstance(arg, torch.nn.Module) else \
            [leaf for leaf in pytree.tree_leaves(arg) if isinstance(leaf, torch.Tensor)] if not isinstance(arg, torch.optim.Optimizer) else []
        if any(tensor.device.type != "xla" for tensor in tensors):
            raise LoweringError(f"{name}: {type(arg).__name__} is not on an XLA device: .to(torch_xla.device()) before the optimizer is made")


def _refresh(args: list[Any], roots: Sequence[str]) -> list[Any]:
    """Placeholders in the place of everything; of inputs new ones, as they stand in no object that could keep them."""
    for slot in _slots(args, roots):
        if slot.put:
            slot.put(_placeholder(slot.tensor))
    swap = lambda leaf: _placeholder(leaf).requires_grad_(leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf     # noqa: E731
    return [arg if isinstance(arg, (torch.nn.Module, torch.optim.Optimizer)) else pytree.tree_map(swap, arg) for arg in args]


def lower(step: Callable[..., Any], args: Sequence[Any]) -> Step:
    """Traces `step(*args)`. An optimizer without state gets it first, by a step that is thrown away."""
    name = getattr(step, "__name__", type(step).__name__)
    _on_device(args, name)
    roots = names.parameter_names(step, len(args))
    own = _refresh(list(copy.deepcopy(tuple(args))), roots)
    modules = _modules(own)
    torch_inside.leave(modules)         # of a plan that was applied to what was copied
    torch_inside.watch(modules, {})
    fresh = any(isinstance(arg, torch.optim.Optimizer) and not arg.state for arg in own)
    if fresh:
        step(*own)
        own = _refresh(own, roots)
    slots = _slots(own, roots)
    number = torch_xla._XLAC._xla_get_tensor_id
    called = {number(slot.tensor): slot for slot in slots}
    before = {id(slot.tensor): slot.tensor._version for slot in slots}
    returned = [leaf for leaf in pytree.tree_leaves(step(*own)) if isinstance(leaf, torch.Tensor) and leaf.device.type == "xla"]
    changed = [slot for slot in slots if slot.put and slot.tensor._version != before[id(slot.tensor)]]
    results = [*(slot.tensor for slot in changed), *returned]
    if not results:
        raise LoweringError(f"{name} neither changes nor returns a tensor on the XLA device: nothing to plan")
    text = xm.get_stablehlo(results)
    ids, values = torch_xla._XLAC._get_tensors_xla_device_data_node(results)
    leaves = []
    for place, (tensor_id, value) in enumerate(zip(ids, values)):
        slot = called.get(tensor_id)
        leaves.append(Leaf(slot.name if slot else f"constant/{place}", str(place), f"[{place}]", tuple(value.shape),
                           str(value.dtype).removeprefix("torch.")))
    places = {leaf.name: place for place, leaf in enumerate(leaves)}
    donated = {places[slot.name]: result for result, slot in enumerate(changed) if slot.name in places}
    return Step(name, _donating(text, donated, len(leaves)), leaves)


def _donating(text: str, donated: Mapping[int, int], count: int) -> str:
    """The module with what is updated in place said so, and without torch_xla's `replicated`, which decides nothing."""
    head, entry, rest = text.partition("func.func @main(")
    signature, arrow, body = rest.partition(") -> ")
    if not entry or signature.count("%arg") != count:
        raise LoweringError("torch_xla printed a module whose arguments are not those of its graph; is a newer torch_xla installed?")

    def attributes(match: re.Match[str]) -> str:
        place = int(match.group(1))
        kept = [] if not match.group(3) or "replicated" in match.group(3) else [match.group(3).strip("{} ")]
        if place in donated:
            kept.append(f"tf.aliasing_output = {donated[place]} : i32")
        return f"%arg{place}: {match.group(2)}" + (f" {{{', '.join(kept)}}}" if kept else "")
    return head + entry + re.sub(r"%arg(\d+): (tensor<[^>]*>)( \{[^}]*\"\{[^\"]*\}\"[^}]*\})?", attributes, signature) + arrow + body


# ---- plans
def _spec(dims: Sequence[Sequence[str]]) -> Spec:
    return tuple(None if not dim else dim[0] if len(dim) == 1 else tuple(dim) for dim in dims)


class Plan(PlanFiles):
    """What `plan` returns: specifications by name, and what puts them onto a model."""

    def __init__(self, step: Step, files: Mapping[str, bytes], axes: Mapping[str, int]) -> None:
        super().__init__(files)
        self.step = step
        self.axes = dict(axes)
        self._mesh: spmd.Mesh | None = None
        self._hooks: list[Any] = []             # on optimizers
        if len(self.json["arguments"]) != len(step.leaves):
            raise PlanMismatch(f"the plan has {len(self.json['arguments'])} arguments, the module of {step.name} {len(step.leaves)}")

    @functools.cached_property
    def specs_by_name(self) -> dict[str, Spec]:
        """`layers.0.wq.weight` -> (None, 'model'): of every parameter, buffer, state and input that the step uses."""
        return {leaf.name: _spec(argument["dims"])
                for leaf, argument in zip(self.step.leaves, self.json["arguments"], strict=True)
                if not leaf.name.startswith("constant/")}

    @property
    def mesh(self) -> spmd.Mesh:
        """Of the devices that torch_xla has. MeshError where those are not as many as the plan is for."""
        if self._mesh is None:
            count, here = math.prod(self.axes.values()), runtime.global_runtime_device_count()
            if count != here:
                raise MeshError(f"the mesh {' x '.join(f'{a}={n}' for a, n in self.axes.items())} has {count} devices, torch_xla {here}; "
                                "SPMD uses all of them. On a CPU set CPU_NUM_DEVICES before torch_xla is imported")
            if not runtime.is_spmd():
                raise MeshError("torch_xla is not in SPMD mode: torch_xla.runtime.use_spmd() before the model is made")
            self._mesh = spmd.Mesh(list(range(count)), tuple(self.axes.values()), tuple(self.axes))
        return self._mesh

    @functools.cached_property
    def gathered_by_name(self) -> dict[str, Spec]:
        """The parameters that the plan gathers, whole or over some axes, before what reads them, and how they are then split."""
        found = gspmd.gathered(self.files["annotated.mlir"].decode(), [argument["dims"] for argument in self.json["arguments"]])
        return {self.step.leaves[place].name: _spec(dims) for place, dims in found.items()}

    def _whose_state_is_split_otherwise(self) -> dict[str, Spec]:
        """the parameters, as they are split, of which the plan splits a state of their shape in another way"""
        specs, found = self.specs_by_name, {}
        for state, spec in specs.items():
            words = state.split("/")        # exp_avg/NAME, and the optimizer before it where there are several
            for name in ("/".join(words[k:]) for k in range(1, len(words))):
                if name in specs and len(specs[name]) == len(spec) and specs[name] != spec:
                    found[name] = specs[name]
        return found

    def _mark(self, name: str, tensor: torch.Tensor) -> None:
        spec = self.specs_by_name.get(name)
        if spec is None:                                        # the step does not use it
            return
        if len(spec) != tensor.dim():
            raise ArgumentsChanged(f"{name} has {tensor.dim()} dimensions, {len(spec)} when it was planned: plan again")
        spmd.clear_sharding(tensor)
        spmd.mark_sharding(tensor, self.mesh, spec)

    def apply(self, *arguments: Any) -> None:
        """Marks the shardings of modules and optimizers, given as the step takes them, and watches the modules' forwards and the optimizers'
        steps (what a plan did before is undone). State that an optimizer does not have yet is marked when its first step has made it."""
        roots = [f"{k}" for k in range(len(arguments))]
        wanted = set(self.specs_by_name)
        slots = [slot for slot in _slots(arguments, roots) if slot.put]
        unknown = [slot.name for slot in slots if slot.name not in wanted]
        if slots and len(unknown) == len(slots):
            raise PlanMismatch(f"the plan knows none of these tensors; the first is {slots[0].name!r}"
                               f"{names.did_you_mean(slots[0].name, sorted(wanted))}")
        for slot in slots:
            self._mark(slot.name, slot.tensor)
        self._unhook()
        torch_inside.leave(_modules(arguments))
        torch_inside.watch(_modules(arguments), self._markers(slots, self.gathered_by_name))
        held = self._whose_state_is_split_otherwise()
        for optimizer in (arg for arg in arguments if isinstance(arg, torch.optim.Optimizer)):
            self._hooks.append(torch_inside.hold_gradients(optimizer, self._markers(slots, held)))
            if not optimizer.state:
                self._later(optimizer, arguments, roots)

    def _markers(self, slots: Sequence[_Slot], specs: Mapping[str, Spec]) -> dict[int, torch_inside.Mark]:
        """by the id of a tensor, what marks a copy of it"""
        def marker(spec: Spec) -> torch_inside.Mark:
            return lambda copied: spmd.mark_sharding(copied, self.mesh, spec)
        return {id(slot.tensor): marker(specs[slot.name]) for slot in slots if slot.name in specs}

    def _unhook(self) -> None:
        for handle in self._hooks:
            handle.remove()
        self._hooks.clear()

    def remove(self, *arguments: Any) -> None:
        """What `apply` did to these modules and optimizers is undone: the forwards are torch's own, the tensors unmarked."""
        torch_inside.leave(_modules(arguments))
        self._unhook()
        for slot in _slots(arguments, [f"{k}" for k in range(len(arguments))]):
            if slot.put:
                spmd.clear_sharding(slot.tensor)

    def _later(self, optimizer: torch.optim.Optimizer, arguments: Sequence[Any], roots: Sequence[str]) -> None:
        waiting = True

        def hook(*_: Any) -> None:      # it can't take itself off: torch is going through the hooks
            nonlocal waiting
            if not waiting:
                return
            waiting = False
            modules = {id(tensor) for arg in arguments if isinstance(arg, torch.nn.Module) for tensor in (*arg.parameters(), *arg.buffers())}
            for slot in _slots(arguments, roots):
                if slot.put and id(slot.tensor) not in modules:
                    self._mark(slot.name, slot.tensor)
        self._hooks.append(optimizer.register_step_post_hook(hook))

    def shard(self, **inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The inputs, by the names of the step's parameters, marked: x, y = plan.shard(x=x, y=y)."""
        specs = self.specs_by_name
        for name, tensor in inputs.items():
            if name not in specs:
                raise ArgumentsChanged(f"the step that was planned uses no input {name!r}{names.did_you_mean(name, sorted(specs))}")
            self._mark(name, tensor)
        return tuple(inputs.values())

    def input_sharding(self, name: str) -> spmd.ShardingSpec:
        """As torch_xla's MpDeviceLoader(input_sharding=..) takes it."""
        return spmd.ShardingSpec(self.mesh, self.specs_by_name[name])

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Writes every file of the plan into a folder."""
        return self.write(path)

    def __repr__(self) -> str:
        return (f"<plan of {self.step.name}: {self.step_time_s * 1e3:.3f} ms, {self.peak_bytes / 1e9:.3f} GB a device, "
                f"{'fits' if self.fits else 'does not fit'}>")


def plan(step: Callable[..., Any], *args: Any, mesh: Any, device: str | Mapping[str, Any], memory_limit: int | str | None = None,
         pins: Mapping[str, Any] | None = None, url: str | None = None, key: str | None = None, patience_s: float = 60.0,
         devices_per_host: int | None = None, rollouts: int | None = None, seconds: float | None = None, seed: int | None = None,
         planner: str | None = None, progress: progress_of.Progress = None) -> Plan:
    """Plans `step(*args)`, where args are modules, optimizers and tensors on the XLA device.

    mesh      {"data": 4, "model": 2}, outermost first, or a torch_xla Mesh with axis names
    pins      {"layers.*.wq.weight": (None, "model"), "x": ("data",)}: names as the plan has them, shell wildcards
    the rest  as toast.plan has it
    """
    axes = names.axes_of(mesh)
    lowered = lower(step, args)
    dims: Mapping[int, Dims] = names.pinned(pins, lowered.leaves, axes)
    options = {"memory_limit_bytes": requests.bytes_of(memory_limit), "devices_per_host": devices_per_host, "rollouts": rollouts,
               "seconds": seconds, "seed": seed, "planner": planner}
    request = requests.request_of(lowered.leaves, range(len(lowered.leaves)), axes, device, dims, options)
    out = Plan(lowered, requests.plan_files(lowered.text, request, url, key, patience_s, progress), axes)
    out.warn_unless_it_fits(lowered.name)
    return out


def apply_plan(model: torch.nn.Module, plan: Plan, *optimizers: torch.optim.Optimizer) -> None:
    """plan.apply(model, *optimizers), in torch's order of words."""
    plan.apply(model, *optimizers)


__all__ = ["Plan", "Step", "apply_plan", "lower", "plan"]

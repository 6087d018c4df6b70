"""What happens inside a planned torch step: norms as sums, weights that are gathered once, and gradients held as their parameters are.

torch_xla writes layer, group and batch norm as HLO's batch_norm_training, which XLA's partitioner (GSPMD) can't split: it gathers the
whole activation around each, and forgets how it was split, so that what follows is split otherwise than planned. While the forward of
a watched module runs, and while a checkpoint computes it again, these are sums and elementwise ops, as they are in what the planner
looks at. A weight that the plan gathers before its uses is read through one copy with the gathered sharding: GSPMD would gather it
anew for the backward pass. Where a plan splits an optimizer's state and not its parameter, the optimizer reads the gradient through a
copy that lies as the parameter does: GSPMD would carry the state's split back through the gradient into the activations. Promises: values and gradients are those of the functions replaced, but for rounding; calls of other
shapes, of other parts of the model, without gradients or in evaluation mode are right as well. Under autocast norms are left alone.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as functional
from torch.overrides import TorchFunctionMode

Mark = Callable[[torch.Tensor], None]      # puts a sharding onto a tensor


def _marked_copy(tensor: torch.Tensor, mark: Mark) -> torch.Tensor:
    copy = tensor * 1       # an op of its own: of a view or a clone torch_xla would forget the mark, or refuse it
    mark(copy)
    return copy


# ---- norms
def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def _scaled(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> torch.Tensor:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _layer_norm(input: torch.Tensor, normalized_shape: Sequence[int], weight: torch.Tensor | None = None, bias: torch.Tensor | None = None,
                eps: float = 1e-5) -> torch.Tensor:
    dims = list(range(-len(normalized_shape), 0))
    centred = _wide(input) - _wide(input).mean(dims, keepdim=True)
    out = centred * torch.rsqrt((centred * centred).mean(dims, keepdim=True) + eps)
    return _scaled(out.to(input.dtype), weight, bias)


def _by_channel(parameter: torch.Tensor | None, rank: int) -> torch.Tensor | None:
    return parameter if parameter is None else parameter.view(1, -1, *[1] * (rank - 2))


def _group_norm(input: torch.Tensor, num_groups: int, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None,
                eps: float = 1e-5) -> torch.Tensor:
    groups = input.unflatten(1, (num_groups, -1))
    out = _layer_norm(groups, groups.shape[2:], eps=eps).reshape(input.shape)
    return _scaled(out, _by_channel(weight, input.dim()), _by_channel(bias, input.dim()))


def _batch_norm(input: torch.Tensor, running_mean: torch.Tensor | None, running_var: torch.Tensor | None,
                weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, training: bool = False, momentum: float = 0.1,
                eps: float = 1e-5) -> torch.Tensor:
    count = input.numel() // input.shape[1]
    if not training or count == 1:
        return functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    dims = [dim for dim in range(input.dim()) if dim != 1]
    mean = _wide(input).mean(dims, keepdim=True)
    centred = _wide(input) - mean
    variance = (centred * centred).mean(dims, keepdim=True)
    with torch.no_grad():
        for running, value in ((running_mean, mean), (running_var, variance * (count / (count - 1)))):
            if running is not None:
                running.mul_(1 - momentum).add_(value.flatten().to(running.dtype), alpha=momentum)
    out = (centred * torch.rsqrt(variance + eps)).to(input.dtype)
    return _scaled(out, _by_channel(weight, input.dim()), _by_channel(bias, input.dim()))


_AS_SUMS: Mapping[Any, Callable[..., torch.Tensor]] = {functional.layer_norm: _layer_norm, functional.group_norm: _group_norm,
                                                       functional.batch_norm: _batch_norm}
# functions of which a parameter is the weight: what else reads it (an initialiser, an update) gets itself
_READERS = frozenset({functional.linear, functional.embedding, functional.conv1d, functional.conv2d, functional.conv3d, torch.matmul,
                      torch.bmm, torch.mm, torch.einsum, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.__rmatmul__, functional.bilinear,
                      functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d})


# ---- a module's forward
class _Forward(TorchFunctionMode):      # type: ignore[misc]
    """While it is entered; `copies` live as long as the outermost call."""

    def __init__(self, gathered: Mapping[int, Mark]) -> None:
        super().__init__()
        self.gathered = gathered
        self.copies: dict[tuple[int, bool], torch.Tensor] = {}
        self.depth = 0

    def _read(self, value: Any) -> Any:
        mark = self.gathered.get(id(value))
        if mark is None:
            return value
        key = id(value), torch.is_grad_enabled()        # a copy made without gradients has none to give
        if key not in self.copies:
            self.copies[key] = _marked_copy(value, mark)
        return self.copies[key]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _AS_SUMS and not torch.is_autocast_enabled("xla"):
            return _AS_SUMS[func](*args, **(kwargs or {}))
        if self.gathered and func in _READERS:
            args = [self._read(arg) for arg in args]
            kwargs = {key: self._read(arg) for key, arg in (kwargs or {}).items()}
        return func(*args, **(kwargs or {}))


def watch(modules: Sequence[torch.nn.Module], gathered: Mapping[int, Mark]) -> None:
    """From now on, until `leave`, their forwards are as above. gathered: by the id of a parameter, what marks its gathered copy."""
    mode = _Forward(gathered)

    def before(*_: Any) -> None:
        if mode.depth == 0:
            mode.copies.clear()
            mode.__enter__()
        mode.depth += 1

    def after(*_: Any) -> None:
        mode.depth -= 1
        if mode.depth == 0:
            mode.__exit__(None, None, None)
            mode.copies.clear()
    before.toast = after.toast = True       # type: ignore[attr-defined]
    # every submodule: a checkpoint calls one of them again, outside of the whole
    for module in {id(each): each for root in modules for each in root.modules()}.values():
        module.register_forward_pre_hook(before, prepend=True)
        module.register_forward_hook(after, always_call=True)


def leave(modules: Sequence[torch.nn.Module]) -> None:
    """Takes off what any `watch` put onto them, or onto what they are copies of."""
    for module in (each for root in modules for each in root.modules()):
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for key in [key for key, hook in hooks.items() if getattr(hook, "toast", False)]:
                del hooks[key]
                module._forward_hooks_always_called.pop(key, None)


# ---- an optimizer's step
def hold_gradients(optimizer: torch.optim.Optimizer, held: Mapping[int, Mark]) -> Any:
    """Its steps read these gradients through marked copies (held: by the id of a parameter), until `.remove()` of what is returned."""
    def before(*_: Any) -> None:
        for parameter in (each for group in optimizer.param_groups for each in group["params"]):
            mark = held.get(id(parameter))
            if mark is not None and parameter.grad is not None:
                parameter.grad = _marked_copy(parameter.grad, mark)
    return optimizer.register_step_pre_hook(before)

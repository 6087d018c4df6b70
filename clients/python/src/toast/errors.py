"""What can go wrong, as exceptions: each says what, where and what to do. All are ToastError; none wraps a bug of ours.

`except toast.ToastError` catches everything that this package raises on purpose. Promises: a message names the argument,
axis, file or address that it is about. Never raised for what the caller's own function does.
"""
from __future__ import annotations


class ToastError(Exception):
    """Of all errors that this package raises on purpose."""


class LoweringError(ToastError):
    """JAX cannot lower or export the function, or it has what a plan cannot keep (static arguments, effects)."""


class UnsupportedJax(ToastError):
    """This JAX lacks what running an annotated module needs."""


class MeshError(ToastError):
    """A mesh that is none, or that the host's devices do not make."""


class PinError(ToastError):
    """A pin that names no argument, an axis that the mesh lacks, or more dimensions than the argument has."""


class ArgumentsChanged(ToastError):
    """Arguments of another structure, shape or type than those that were planned."""


class PlanMismatch(ToastError):
    """A saved plan that belongs to another module, or files that are no plan."""


class BinaryNotFound(ToastError):
    """The program `toast` is neither in the wheel nor where it is looked for."""


class PlanningFailed(ToastError):
    """`toast plan` or a job ended without a plan. `status` is the program's exit status, `code` the service's code."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RequestRefused(PlanningFailed):
    """The request cannot be planned: an unknown device, a limit too small, a constraint that contradicts another."""


class ModuleRefused(PlanningFailed):
    """The module has what TOAST does not read, with line and column where that is known."""


class ServiceUnreachable(ToastError):
    """The service did not answer, whatever was tried and for how long the message says."""


class DoesNotFitWarning(UserWarning):
    """No plan fits into the memory limit; the one returned needs least."""


class DoubtfulConstraintWarning(UserWarning):
    """A constraint that may stand on another value than was planned: the function has more or fewer that look like it."""

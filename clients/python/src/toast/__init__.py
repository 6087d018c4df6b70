"""TOAST for JAX: from a step function to a sharded one. `toast.torch` is the same for torch_xla.

    plan = toast.plan(step, params, batch, mesh={"data": 4, "model": 2}, device="a100-40")
    step = plan.jit()

`plan.in_shardings` and `plan.out_shardings` are NamedShardings in the structure of the arguments and results; `print(plan.report)`
says what the plan is and costs. Errors are toast.ToastError. JAX is imported when the first name that needs it is used.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import (ArgumentsChanged, BinaryNotFound, DoesNotFitWarning, DoubtfulConstraintWarning, LoweringError, MeshError,
                     ModuleRefused, PinError, PlanMismatch, PlanningFailed, RequestRefused, ServiceUnreachable, ToastError,
                     UnsupportedJax)
from .report import Report

if TYPE_CHECKING:
    from .api import load, plan, profile
    from .constraining import Constraints
    from .exporting import Planned
    from .listed import Constraint
    from .plans import Plan
    from .race import Comparison, Row, Tuned, compare

_OF_JAX = {"load": "api", "plan": "api", "profile": "api", "Planned": "exporting", "Plan": "plans", "Comparison": "race",
           "Row": "race", "Tuned": "race", "compare": "race", "Constraint": "listed", "Constraints": "constraining"}
__version__ = "0.1.0"
__all__ = ["ArgumentsChanged", "BinaryNotFound", "Comparison", "Constraint", "Constraints", "DoesNotFitWarning", "DoubtfulConstraintWarning", "LoweringError", "MeshError", "ModuleRefused", "PinError",
           "Plan", "PlanMismatch", "Planned", "PlanningFailed", "Report", "RequestRefused", "Row", "ServiceUnreachable", "ToastError",
           "Tuned", "UnsupportedJax", "compare", "load", "plan", "profile"]


def __getattr__(name: str) -> Any:
    if name not in _OF_JAX:
        raise AttributeError(f"module 'toast' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f".{_OF_JAX[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "jax":
            raise
        raise UnsupportedJax(f"toast.{name} needs JAX: pip install 'jax>=0.4.38'. For torch_xla: import toast.torch") from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

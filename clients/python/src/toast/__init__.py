"""TOAST for JAX: from a step function to a sharded one.

    plan = toast.plan(step, params, batch, mesh={"data": 4, "model": 2}, device="a100-40")
    step = plan.jit()

`plan.in_shardings` and `plan.out_shardings` are NamedShardings in the structure of the arguments and results; `print(plan.report)`
says what the plan is and costs. Errors are toast.ToastError.
"""
from .api import load, plan, profile
from .errors import (ArgumentsChanged, BinaryNotFound, DoesNotFitWarning, LoweringError, MeshError, ModuleRefused, PinError,
                     PlanMismatch, PlanningFailed, RequestRefused, ServiceUnreachable, ToastError, UnsupportedJax)
from .exporting import Planned
from .plans import Plan, Report
from .race import Comparison, Row, Tuned, compare

__version__ = "0.1.0"
__all__ = ["ArgumentsChanged", "BinaryNotFound", "Comparison", "DoesNotFitWarning", "LoweringError", "MeshError", "ModuleRefused", "PinError",
           "Plan", "PlanMismatch", "Planned", "PlanningFailed", "Report", "RequestRefused", "Row", "ServiceUnreachable", "ToastError",
           "Tuned", "UnsupportedJax", "compare", "load", "plan", "profile"]

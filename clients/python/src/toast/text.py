"""Modules in other spellings to the text that TOAST reads: python -m toast.text FILE > module.mlir

Reads MLIR bytecode, StableHLO's portable artifacts (what jax.export keeps, what torch_xla saves) and what
`Exported.serialize()` writes. Needs JAX. Never changes what a module says: names and locations stay where the file has them.
"""
from __future__ import annotations

import argparse
import pathlib
import sys

from .errors import ToastError, UnsupportedJax

_BYTECODE = b"ML\xefR"


def of_bytes(data: bytes) -> str:
    """The module as text; ToastError when these bytes are no module."""
    try:
        from jax.interpreters import mlir as jax_mlir
    except ModuleNotFoundError as error:
        raise UnsupportedJax("toast.text needs JAX: pip install 'jax>=0.4.38'") from error
    if not data.startswith(_BYTECODE):
        return _exported(data)
    from jax.extend.mlir import ir
    from jax.extend.mlir.dialects import stablehlo
    with jax_mlir.make_ir_context() if hasattr(jax_mlir, "make_ir_context") else ir.Context() as context:
        try:
            module = stablehlo.deserialize_portable_artifact(context, data) if b"vhlo" in data else ir.Module.parse(data)
        except Exception as error:      # MLIRError; older jaxlibs raise ValueError
            raise ToastError(f"this bytecode cannot be read by the JAX installed here: {error}") from error
        return str(module.operation.get_asm(enable_debug_info=True, large_elements_limit=None))


def _exported(data: bytes) -> str:
    import jax.export
    try:
        return str(jax.export.deserialize(bytearray(data)).mlir_module())
    except ImportError as error:
        raise UnsupportedJax(f"reading what Exported.serialize() wrote needs '{error.name or 'flatbuffers'}': pip install flatbuffers") from error
    except Exception as error:          # flatbuffers raises what its bytes lead to
        raise ToastError("neither MLIR bytecode nor what jax.export's serialize() writes") from error


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m toast.text", description="MLIR bytecode, portable artifacts and serialized exports to text.",
                                     epilog="example: python -m toast.text step.mlirbc > step.mlir && toast plan step.mlir --mesh data=8 --device h100")
    parser.add_argument("file", help="- reads standard input")
    file = parser.parse_args(arguments).file
    try:
        print(of_bytes(sys.stdin.buffer.read() if file == "-" else pathlib.Path(file).read_bytes()))
    except (OSError, ToastError) as error:
        print(f"toast.text: {file}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

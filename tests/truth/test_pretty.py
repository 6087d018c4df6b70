#!/usr/bin/env python3
# label: truth
# timeout: 400
"""A module that came in pretty form comes back in pretty form, one that came in generic form in generic form, and the two are one module for
jaxlib, locations included: seven models, every form that is emitted."""
import gzip
import os
import re
import subprocess
import sys
import tempfile

import venv

venv.enter()
from jax._src.interpreters import mlir as jax_mlir  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

MODELS = ("t2b.loc.mlir.gz", "t2b_scan.mlir", "gns.mlir", "gpt_torch.mlir", "itx.mlir", "unet.mlir", "t2b_remat.mlir")
FORMS = ("annotated", "manual", "local", "specs", "constrained")
# ops that StableHLO prints in generic form itself
QUOTED = {"stablehlo." + op for op in ("gather", "scatter", "sort", "case", "all_reduce", "all_gather", "all_to_all", "reduce_scatter",
                                       "reduce_window", "select_and_scatter")}


def canonical(text):
    """one spelling of the module; MLIR makes locations of text that has none, which are places in that text"""
    module = ir.Module.parse(text, jax_mlir.make_ir_context())
    module.operation.verify()
    return module.operation.get_asm(print_generic_op_form=True, enable_debug_info="loc(" in text, assume_verified=True)


def toast(*arguments):
    return subprocess.run([os.path.join(venv.BIN, "toast"), *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def ops_named(text):
    """names of ops in generic form, and in pretty form"""
    ops = re.findall(r'^\s*(?:%[\w:]+ = )?("?)((?:stablehlo|chlo|sdy|func|builtin)\.\w+)', text, re.M)
    return {name for quote, name in ops if quote}, {name for quote, name in ops if not quote}


def check_form(path, generic, form):
    choice = ("--mesh", "data=4,model=2", "--baseline", "batch:data+megatron:model", "--form", form)
    pretty_out, generic_out = toast("lower", path, *choice), toast("lower", generic, *choice)
    quoted, bare = ops_named(pretty_out)
    assert quoted <= QUOTED and len(bare) > 5, "%s, %s: in generic form: %s" % (path, form, sorted(quoted - QUOTED))
    assert pretty_out.find("module @") >= 0 and 'builtin.module' not in pretty_out
    assert not ops_named(generic_out)[1], "%s, %s: generic input gave %s" % (path, form, sorted(ops_named(generic_out)[1]))
    assert canonical(pretty_out) == canonical(generic_out), "%s, %s: the forms mean different modules" % (path, form)
    with tempfile.TemporaryDirectory() as folder: # MLIR sorts dictionaries: from the second time on nothing changes
        first, second = os.path.join(folder, "first.mlir"), os.path.join(folder, "second.mlir")
        for target, text in ((first, pretty_out), (second, None)):
            with open(target, "w") as file:
                file.write(text or toast("read", first, "--pretty"))
        with open(second) as file:
            assert file.read() == toast("read", second, "--pretty"), "%s, %s: does not read back" % (path, form)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            path = os.path.join(venv.MODELS, "small", name)
            generic = os.path.join(folder, "generic.mlir")
            with open(generic, "w") as file:
                file.write(toast("read", path, "--generic"))
            with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
                assert canonical(file.read()) == canonical(toast("read", path, "--pretty"))
            for form in FORMS:
                check_form(path, generic, form)
            print("%s: %d forms" % (name, len(FORMS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

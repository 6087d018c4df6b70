#!/usr/bin/env python3
# label: truth
# timeout: 300
"""The package around a plan: names and pins, errors, save and load, compare and tune, arguments that lie elsewhere."""
import functools
import os
import pathlib
import sys
import tempfile
import warnings

import support

support.enter("truth")

import checks  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import toast  # noqa: E402

STEP, ARGS, _ = models.mlp()
JITTED = jax.jit(STEP, donate_argnums=0)
QUICK = {"mesh": {"data": 4, "model": 2}, "device": "a100-40", "planner": "propagate"}


def plan(*args, **more):
    return toast.plan(JITTED, *(args or ARGS), **{**QUICK, **more})


def refused(kind, *words, call):
    try:
        call()
    except toast.ToastError as error:
        assert type(error) is kind, f"{type(error).__name__}: {error}"
        for word in words:
            assert word in str(error), f"{word!r} is not in: {error}"
        return
    raise AssertionError(f"no {kind.__name__}")


def test_pins_in_every_spelling():
    for pins in ({"params/w1": P(None, "model")}, {"[0]['w1']": P(None, "model")}, {"params['w1']": P(None, "model")},
                 {"*/w1": P(None, "model")}, {"[0]['w*1']": P(None, "model")}, {"0/w1": P(None, "model")}):
        specs = plan(pins=pins).in_specs
        assert specs[0]["w1"] == P(None, "model"), (pins, specs)
    specs = plan(pins={"params/*": P(), "params/w2": P("model"), "unused": P()}).in_specs
    assert specs[0]["w1"] == P() and specs[0]["w2"] == P("model")
    assert plan(pins={"x": P(("data", "model"))}).in_specs[2] == P(("data", "model"))


def test_pins_of_unused_arguments():
    eight = jax.ShapeDtypeStruct((8,), jnp.float32)
    found = toast.plan(STEP, ARGS[0], eight, *ARGS[2:], **QUICK, pins={"unused": P("data")})
    assert found.in_specs[1] == P("data") and 3 not in found.step.kept[:3] and len(found.step.kept) == 5


def test_wrong_pins():
    refused(toast.PinError, "no argument is named like this", "did you mean 'params/w1'", call=lambda: plan(pins={"params/v1": P()}))
    refused(toast.PinError, "did you mean 'data'", "dimension 0", call=lambda: plan(pins={"x": P("dat")}))
    refused(toast.PinError, "has 3 dimensions, the argument 2", call=lambda: plan(pins={"x": P(None, None, "data")}))
    refused(toast.PinError, "stands in dimensions 0 and 1", call=lambda: plan(pins={"x": P("data", "data")}))
    refused(toast.PinError, "pins['x']", "3 is no specification", call=lambda: plan(pins={"x": 3}))
    refused(toast.PinError, "pins['params']", "a tree of 3: 'params/*'", call=lambda: plan(pins={"params": P("data")}))
    refused(toast.PinError, "pins['[0]']", "a tree of 3: '0/*'", call=lambda: plan(pins={"[0]": P("data")}))


def test_wrong_requests():
    refused(toast.RequestRefused, "a100-40", call=lambda: plan(device="a100-41"))
    refused(toast.RequestRefused, "36GiB", call=lambda: plan(memory_limit="lots"))
    refused(toast.MeshError, "at least one axis", call=lambda: plan(mesh={}))
    refused(toast.MeshError, "'data'", call=lambda: plan(mesh={"data": 0}))
    refused(toast.MeshError, "mesh='data=4,model=2' is no mesh", "{'data': 4", call=lambda: plan(mesh="data=4,model=2"))
    refused(toast.MeshError, "mesh=8 is no mesh", call=lambda: plan(mesh=8))
    wide = plan(mesh={"data": 16})
    assert wide.in_specs and wide.report["summary"]
    refused(toast.MeshError, "needs 16 devices, this host has 8", "XLA_FLAGS", call=wide.jit)
    static = jax.jit(lambda x, n: x * n, static_argnums=1)
    refused(toast.LoweringError, "jax.debug.print", "without them", call=lambda: toast.plan(
        lambda x: (jax.debug.print("{}", x.sum()), x * 2)[1], jnp.ones((8, 8)), **QUICK))
    refused(toast.LoweringError, "functools.partial", call=lambda: toast.plan(static, jnp.ones((8, 8)), 3, **QUICK))
    assert toast.plan(functools.partial(lambda x, n: x * n, n=3), jnp.ones((8, 8)), **QUICK)


class Layer:
    """no pytree"""


def test_steps_that_are_none():
    eight = jnp.ones((8, 8))
    refused(toast.LoweringError, "argument mode is a str", "functools.partial", call=lambda: toast.plan(lambda x, mode: x, eight, "train", **QUICK))
    refused(toast.LoweringError, "argument layer is a Layer", "pytree", call=lambda: toast.plan(lambda layer, x: x, Layer(), eight, **QUICK))
    refused(toast.LoweringError, "argument params/act is a function", "eqx.partition", call=lambda: toast.plan(
        lambda params, x: params["act"](x), {"act": test_wrong_pins}, eight, **QUICK))

    class Other:
        """as nnx.jit makes them: has what jax.jit's has, but for arguments of its own"""
        trace = lower = staticmethod(lambda *args: object())
    refused(toast.LoweringError, "Other", "plan the function that it wraps", call=lambda: toast.plan(Other(), eight, **QUICK))

    def broken(x):
        raise ValueError("of the step's own")

    def branches(x):
        return x if x.sum() > 0 else -x
    for step, kind in ((broken, ValueError), (branches, jax.errors.TracerBoolConversionError)):
        try:
            toast.plan(step, eight, **QUICK)
        except kind as error:
            assert not isinstance(error, toast.ToastError), error
        else:
            raise AssertionError(f"{step} was planned")


def test_binary_not_found():
    kept = os.environ["TOAST_BIN"]
    try:
        os.environ["TOAST_BIN"] = "/nowhere"
        refused(toast.BinaryNotFound, "TOAST_BIN", "/nowhere", call=plan)
    finally:
        os.environ["TOAST_BIN"] = kept


def test_nothing_fits():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        small = plan(planner="baselines", memory_limit=70000)
    assert not small.fits and any(issubclass(w.category, toast.DoesNotFitWarning) for w in caught)


def test_changed_arguments():
    step = plan().jit()
    params, unused, x, y = ARGS
    refused(toast.ArgumentsChanged, "argument x (float32[256,64])", "float32[128,64]", call=lambda: step(params, unused, x[:128], y))
    refused(toast.ArgumentsChanged, "structure", "[0]['b1']", call=lambda: step({"w1": params["w1"]}, unused, x, y))
    refused(toast.ArgumentsChanged, "float32", "int32", call=lambda: step(params, unused, x, y.astype(jnp.int32)))


def test_save_and_load():
    before = plan(pins={"params/w1": P(None, "model")})
    with tempfile.TemporaryDirectory() as folder:
        before.save(folder)
        after = toast.load(folder, JITTED, *ARGS)
        assert after.in_specs == before.in_specs and after.out_specs == before.out_specs and after.files == before.files
        assert checks.distance(STEP(*ARGS)[0], after.jit()(*checks.host(ARGS))[0]) < 1e-5
        bigger = (*ARGS[:2], *[jnp.concatenate([a, a]) for a in ARGS[2:]])
        refused(toast.PlanMismatch, "x was float32[256, 64]", "[512, 64]", call=lambda: toast.load(folder, JITTED, *bigger))
        refused(toast.PlanMismatch, "computation", call=lambda: toast.load(folder, lambda *args: jax.tree_util.tree_map(
            lambda a: a * 2.0, (STEP(*args)[0], STEP(*args)[1])), *ARGS))
        for name in ("plan.json", "report.json"):
            whole = (pathlib.Path(folder) / name).read_bytes()
            (pathlib.Path(folder) / name).write_bytes(whole[:99])
            refused(toast.PlanMismatch, name, "is not what plan.save() wrote", call=lambda: toast.load(folder, JITTED, *ARGS))
            (pathlib.Path(folder) / name).write_bytes(whole)
        (pathlib.Path(folder) / "plan.json").unlink()
        refused(toast.PlanMismatch, "plan.json", call=lambda: toast.load(folder, JITTED, *ARGS))
    refused(toast.PlanMismatch, "no folder", call=lambda: toast.load("/nowhere", JITTED, *ARGS))


def test_shardings_for_ones_own_jit():
    found = plan(pins={"x": P("data"), "params/w1": P(None, "model")})
    own = jax.jit(STEP, in_shardings=found.in_shardings, out_shardings=found.out_shardings)
    assert checks.distance(STEP(*ARGS), own(*ARGS)) < 1e-5


def test_arguments_elsewhere_and_a_mesh_of_ones_own():
    mesh = Mesh(np.array(jax.devices()[::-1]).reshape(4, 2), ("data", "model"))
    found = plan(mesh=mesh, pins={"x": P("data")})
    elsewhere = jax.device_put(checks.host(ARGS), NamedSharding(mesh, PartitionSpec()))
    assert checks.distance(STEP(*ARGS), found.jit()(*elsewhere)) < 1e-5
    assert found.mesh is mesh


def test_abstract_arguments_and_names():
    shapes = jax.tree_util.tree_map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), ARGS)
    found = plan(*shapes)
    assert [a["name"] for a in found.json["arguments"]] == ["params/b1", "params/w1", "params/w2", "x", "y"]
    assert list(found.specs_by_name) == ["params/b1", "params/w1", "params/w2", "unused", "x", "y"]


def test_progress():
    lines = []
    plan(planner="mcts", rollouts=100, progress=lines.append)
    assert lines and "rollouts" in lines[0]


def test_compare_and_tune():
    found = toast.compare(JITTED, *ARGS, shardings=(P(), None, P("data"), P("data")), mesh=QUICK["mesh"], device="a100-40", race=True,
                          repeats=2, rollouts=100)
    assert [row.name for row in found.rows] == ["yours", "toast"] and all(row.seconds > 0 for row in found.rows), str(found)
    assert found.yours.in_specs[2] == P("data") and found.plan.step_time_s <= found.yours.step_time_s
    refused(toast.PinError, "structure", call=lambda: toast.compare(JITTED, *ARGS, shardings=(P(),), mesh=QUICK["mesh"], device="a100-40"))
    tuned = plan(planner="auto", rollouts=100).tune(2, repeats=2)
    assert len(tuned.rows) == 2 and tuned.name in str(tuned)
    assert checks.distance(STEP(*ARGS), tuned.best(*checks.host(ARGS))) < 1e-5
    assert tuned.plan.jit is not None and tuned.rows[0].name == "this plan"
    pinned = plan(planner="auto", rollouts=100, pins={"x": P("data")}, alternatives=2)
    for other in pinned.alternatives:
        assert other.in_specs[2] == P("data") and other.in_specs != pinned.in_specs, "pins hold in alternatives, something else differs"
        assert checks.distance(STEP(*ARGS), other.jit()(*checks.host(ARGS))) < 1e-5
    assert pinned.tune(2, repeats=1).rows[1].name.startswith("alternative 1: ")
    rows = pinned.report["alternatives"]["plans"]
    assert [row["plan"] for row in rows] == [other.json["hash"] for other in pinned.alternatives]


def test_alternatives_are_saved():
    found = plan(planner="auto", rollouts=100, alternatives=1)
    with tempfile.TemporaryDirectory() as folder:
        again = toast.load(found.save(folder), JITTED, *ARGS)
        assert [other.json for other in again.alternatives] == [other.json for other in found.alternatives] != []
        refused(toast.RequestRefused, "alternatives", call=lambda: toast.load(plan().save(pathlib.Path(folder, "bare")), JITTED, *ARGS).tune(2))


def test_unreachable_service():
    said = []
    refused(toast.ServiceUnreachable, "http://127.0.0.1:1", "toast serve", "tried",
            call=lambda: plan(url="http://127.0.0.1:1", patience_s=1.5, progress=said.append))
    assert any("again in" in line for line in said), said
    refused(toast.ServiceUnreachable, "no address", call=lambda: plan(url="127.0.0.1:8080"))


def test_bytecode_becomes_text():
    import io

    import jax.export

    import toast.text
    plain = io.BytesIO()
    JITTED.lower(*ARGS).compiler_ir().operation.write_bytecode(plain)
    portable = jax.export.export(JITTED)(*ARGS).mlir_module_serialized
    for data in (plain.getvalue(), portable):
        text = toast.text.of_bytes(data)
        assert "func.func public @main" in text and "stablehlo.dot_general" in text and "loc(\"params['w1']\")" in text
    refused(toast.UnsupportedJax, "flatbuffers", call=lambda: toast.text.of_bytes(b"MZ nothing"))
    refused(toast.ToastError, "cannot be read", call=lambda: toast.text.of_bytes(portable[:200]))


if __name__ == "__main__":
    sys.exit(support.run_all(
        test_pins_in_every_spelling, test_pins_of_unused_arguments, test_wrong_pins, test_wrong_requests, test_steps_that_are_none,
        test_binary_not_found, test_nothing_fits, test_changed_arguments, test_save_and_load,
        test_shardings_for_ones_own_jit, test_arguments_elsewhere_and_a_mesh_of_ones_own,
        test_abstract_arguments_and_names, test_progress, test_compare_and_tune, test_alternatives_are_saved,
        test_bytecode_becomes_text, test_unreachable_service))

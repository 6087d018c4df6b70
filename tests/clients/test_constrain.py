#!/usr/bin/env python3
# label: truth
# timeout: 300
"""plan.constrain(step): the function with the plan's constraints in it, each once; the same numbers; what cannot be found is said.

What XLA moves under such lists is tests/truth/test_constraints.py's matter. Argument `bytes`: compares it here, too.
"""
import re
import sys
import warnings

import support

support.enter("truth")

import hlo  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402

import toast  # noqa: E402
from toast import constraining, listed  # noqa: E402

MESH = {"data": 4, "model": 2}


def planned(make, share, device="a100-40", **more):
    step, args, _ = make()
    free = toast.plan(step, *args, mesh=MESH, device=device, planner="baselines", outputs=["plan"])
    unsharded = next(b["peak_bytes"] for b in free.report["baselines"] if b["name"] == "replicated")
    return step, args, toast.plan(step, *args, mesh=MESH, device=device, memory_limit=int(unsharded * share), **({"planner": "baselines"} | more))


def same(wanted, got):
    for one, other in zip(jax.tree_util.tree_leaves(wanted), jax.tree_util.tree_leaves(got), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert np.abs(one - other).max() <= 2e-4 * max(1e-6, np.abs(one).max()), np.abs(one - other).max()


def shardings(plan):
    return {"in_shardings": plan.in_shardings, "out_shardings": plan.out_shardings}


def test_numbers():
    step, args, plan = planned(models.mlp, 0.45)
    same(jax.jit(step)(*args), jax.jit(plan.constrain(step), **shardings(plan))(*jax.device_put(args, plan.in_shardings)))


def test_each_once():
    step, args, plan = planned(lambda: models.gpt(vocabulary=512), 0.3)
    assert len(plan.constraints) > 0 and "with_sharding_constraint" in str(plan.constraints), plan.constraints
    moved = plan.report["constraints"]["moved_bytes"]
    assert moved["constraints"] < moved["specs"], moved
    text = jax.jit(plan.constrain(step), **shardings(plan)).lower(*args).as_text()
    assert text.count("sdy.sharding_constraint") == len(plan.constraints), (text.count("sdy.sharding_constraint"), plan.constraints)


def with_list(plan, step):
    """the function with the plan's constraints alone, its sums left to XLA"""
    return constraining.constrained(step, plan.constraints, plan.mesh, [leaf.name for leaf in plan.step.leaves])


def test_in_scan():
    """Values of a scan's body: constrained there, each once, no other one; fewer bytes; the same numbers."""
    step, args, plan = planned(lambda: models.gpt_scanned(remat=True), 0.15, {"base": "a100-40", "backend": "xla_cpu"})
    inside = [each for each in plan.constraints if "/while/body/" in each.name]
    assert len(inside) > 1 and any(each.uses for each in inside) and any(not each.uses for each in inside), plan.constraints
    listed = jax.jit(with_list(plan, step), **shardings(plan))
    lowered = listed.lower(*args)
    assert lowered.as_text().count("sdy.sharding_constraint") == len(plan.constraints), plan.constraints
    specs, found = (sum(hlo.collective_bytes(each.compile().as_text()).values())
                    for each in (jax.jit(step, **shardings(plan)).lower(*args), lowered))
    wanted = plan.report["constraints"]["moved_bytes"]["plan"]
    assert found < 0.9 * specs and found <= 1.15 * wanted, (found, specs, wanted)
    same(jax.jit(step)(*args), listed(*jax.device_put(args, plan.in_shardings)))


def by_hand(function, listed):
    """the function with these constraints in it"""
    return constraining.constrained(function, listed, jax.sharding.Mesh(np.asarray(jax.devices()).reshape(4, 2), ("data", "model")), [])


def written(function, *args):
    return str(jax.make_jaxpr(function)(*args)).count("sharding_constraint[")


def test_loops():
    """What a scan reads, carries and stacks, what a while carries, and a conditional's value: each where it belongs; x ** 3 is one."""
    def function(x, w):
        h, stacked = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), h * 2), x, w)
        h = jax.lax.while_loop(lambda h: h.sum() < 10, lambda h: h + 1, h)
        return jax.lax.cond(h.sum() > 3, lambda h: jnp.sin(h), lambda h: h ** 3, h), stacked

    args = jnp.ones((8, 16)), jnp.ones((3, 16, 16))
    scan = next(i for i, line in enumerate(open(__file__), 1) if "lax.scan(lambda h, w" in line)

    def one(op, line, kind, name="", occurrence=0, alike=1):
        return constraining.Constraint(op, f"test_constrain.py:{line}", name, occurrence, alike, kind,
                                       jax.sharding.PartitionSpec("data" if kind[4] == "8" else None), (), ())

    for each in (one("loop value", scan, "f32[8,16]"), one("loop value", scan, "f32[3,8,16]"), one("loop input", scan, "f32[3,16,16]"),
                 one("stablehlo.dynamic_slice", scan, "f32[1,16,16]"), one("loop value", scan + 1, "f32[8,16]"),
                 one("stablehlo.tanh", scan, "f32[8,16]", "jit(f)/while/body/tanh"), one("stablehlo.sine", scan + 2, "f32[8,16]", "a/sin"),
                 one("stablehlo.multiply", scan + 2, "f32[8,16]", "a/integer_pow", 1, 2)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
            assert written(by_hand(function, [each]), *args) == 1, each
        same(function(*args), jax.jit(by_hand(function, [each]))(*args))


def test_some_uses():
    """Of an argument, of a slice that a scan's body reads and of what it carries and reads: constrained where the uses that are named read
    it, and nowhere else."""
    def function(x, w, y):
        def body(h, w):
            return h @ w + jnp.sin(w).sum() + jnp.sin(h) + y.sum() * jnp.sin(y), None
        return jax.lax.scan(body, x, w)[0], x.T @ x, jnp.sin(x)

    line = test_some_uses.__code__.co_firstlineno
    args, spec = (jnp.ones((16, 16)) / 16, jnp.ones((3, 16, 16)) / 16, jnp.ones((16, 16))), jax.sharding.PartitionSpec("data")
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()).reshape(4, 2), ("data", "model"))
    outside, dot, sine = (("stablehlo.sine", f"test_constrain.py:{line + 6}", "f/sin"),
                          *((op, f"test_constrain.py:{line + 5}", f"f/while/body/{name}") for op, name in (("stablehlo.dot_general", "dot_general"), ("stablehlo.sine", "sin"))))
    for op, at, occurrence, alike, use in (("argument", "x", 0, 0, outside), ("stablehlo.reshape", line + 6, 0, 1, dot),
                                           ("loop value", line + 6, 0, 1, dot), ("loop input", line + 6, 0, 1, sine)):
        place = at if op == "argument" else f"test_constrain.py:{at}"
        each = constraining.Constraint(op, place, "", occurrence, alike, "f32[16,16]", spec, (), (use,))
        with warnings.catch_warnings():
            warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
            made = jax.make_jaxpr(constraining.constrained(function, [each], mesh, ["x", "w", "y"]))(*args)
        read = [other.primitive.name for jaxpr in (made.jaxpr, *(eqn.params["jaxpr"].jaxpr for eqn in made.eqns if "jaxpr" in eqn.params)) for eqn in jaxpr.eqns
                if eqn.primitive.name == "sharding_constraint" for other in jaxpr.eqns if eqn.outvars[0] in other.invars]
        assert read == [use[2].rpartition("/")[2]], (op, read, made)
        same(function(*args), jax.jit(constraining.constrained(function, [each], mesh, ["x", "w", "y"]))(*args))


def test_results_of_loops():
    """A module's loop hands on what it only reads before what it makes: of two results alike the second is what the scan stacks."""
    def function(x, w):
        return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), w * 2), x, w)

    args, here = (jnp.ones((8, 16)), jnp.ones((3, 16, 16))), f"test_constrain.py:{test_results_of_loops.__code__.co_firstlineno + 3}"
    each = constraining.Constraint("stablehlo.while", here, "jit(f)/while", 1, 2, "f32[3,16,16]", jax.sharding.PartitionSpec(None, "data"), (), ())
    with warnings.catch_warnings():
        warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
        assert written(by_hand(function, [each]), *args) == 1, each
    same(function(*args), jax.jit(by_hand(function, [each]))(*args))


def test_results_of_loops_that_read_weights():
    """A weight that the body multiplies by is none of a loop's results, though it looks like the gradient that the loop adds up."""
    def function(x, w):
        def loss(w):
            return jax.lax.scan(lambda h, _: (jnp.tanh(h @ w), None), x, None, length=3)[0].sum()

        return jax.grad(loss)(w)

    here = f"test_constrain.py:{test_results_of_loops_that_read_weights.__code__.co_firstlineno + 4}"
    args, spec = (jnp.full((8, 16), 0.1), jnp.full((16, 16), 0.1)), jax.sharding.PartitionSpec("data")
    each = constraining.Constraint("stablehlo.while", here, "jit(f)/transpose(jvp())/while", 0, 1, "f32[16,16]", spec, (), ())
    with warnings.catch_warnings():
        warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
        assert written(by_hand(function, [each]), *args) == 1, each
    same(function(*args), jax.jit(by_hand(function, [each]))(*args))


def test_remat_and_functions():
    """What remat computes again from (JAX makes a barrier of it), and an op of a shared function, which has no place of its own."""
    def function(x, w):
        inner = jax.checkpoint(lambda x, w: jnp.tanh(jax.nn.relu(x @ w)))
        return jax.grad(lambda w: inner(x, w).sum())(w)

    args, here = (jnp.full((8, 16), 0.1), jnp.ones((16, 16))), f"test_constrain.py:{test_remat_and_functions.__code__.co_firstlineno + 3}"
    spec, none = jax.sharding.PartitionSpec("data"), ((), ())
    dot = ("stablehlo.dot_general", here, "a/dot_general")
    for each in (constraining.Constraint("stablehlo.optimization_barrier", "checkpoint", "a/checkpoint", 0, 2, "f32[8,16]", spec, (), (dot,)),
                 constraining.Constraint("stablehlo.optimization_barrier", "checkpoint", "a/checkpoint", 0, 1, "f32[16,16]", spec, *none),
                 constraining.Constraint("stablehlo.maximum", "max", "a/max", 0, 2, "f32[8,16]", spec, *none)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
            assert written(by_hand(function, [each]), *args) == 1, each
        same(function(*args), jax.jit(by_hand(function, [each]))(*args))


def test_scopes():
    """An equation that is alone in its scope, however many look like it, and a value that JAX makes when it lowers an equation: the
    equation's result, in the scope that is named."""
    def function(x):
        for name in ("first", "second"):
            with jax.named_scope(name):
                x = jax.jit(jax.nn.silu)(x) * 2
        return x

    spec, x = jax.sharding.PartitionSpec("data"), jnp.linspace(-1, 1, 8)
    for op, name, alike, before in (("stablehlo.multiply", "jit(step)/second/mul", 40, "stablehlo.multiply"),
                                    ("stablehlo.add", "jit(step)/second/jit(silu)/jit(silu)/add", 2, "stablehlo.divide")):
        listed = [constraining.Constraint(op, op.removeprefix("stablehlo."), name, 1, alike, "f32[8]", spec, (), ())]
        with warnings.catch_warnings():
            warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
            text = jax.jit(by_hand(function, listed)).lower(x).as_text()
        lines = [line for line in text.splitlines() if "sharding_constraint" in line or "Sharding" in line]
        assert len(lines) == 1, text
        constrained = re.search(r"sharding_constraint (%\w+)|@Sharding\((%\w+)\)", lines[0])
        made = re.search(rf"{next(filter(None, constrained.groups()))} = (stablehlo\.\w+)", text[:text.index(lines[0])].rpartition("func.func")[2])
        assert made[1] == before, (made[1], text)
        same(function(x), jax.jit(by_hand(function, listed))(x))


def test_products_are_seen():
    """A scan with remat whose products XLA's partitioner gathers where they are not constrained (1.5 times the plan's bytes): with the
    list no more is moved than is said."""
    step, args, plan = planned(lambda: models.gpt_scanned(remat=True), 0.13, {"base": "a100-40", "backend": "xla_cpu"})
    said = plan.report["constraints"]["moved_bytes"]["sums"]
    others = [each for each in plan.constraints if each.op != "stablehlo.dot_general"]
    without = constraining.constrained(step, others, plan.mesh, [leaf.name for leaf in plan.step.leaves])
    moved, gathered = (sum(hlo.collective_bytes(jax.jit(each, **shardings(plan)).lower(*args).compile().as_text()).values())
                       for each in (plan.constrain(step), without))
    assert moved <= 1.1 * said + 1024 and gathered > 1.4 * said, (moved, gathered, said, str(plan.constraints))


def test_doubt():
    """The module has more values that look like it than the function: said, with the constraint."""
    listed = [constraining.Constraint("stablehlo.tanh", "test_constrain.py:" + str(test_doubt.__code__.co_firstlineno + 4), "a/tanh", 0, 3,
                                      "f32[8]", jax.sharding.PartitionSpec("data"), (), ())]
    function = lambda x: jnp.tanh(jnp.tanh(x))     # noqa: E731
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert written(by_hand(function, listed), jnp.ones(8)) == 1
    assert any(issubclass(each.category, toast.DoubtfulConstraintWarning) and "3 values" in str(each.message) for each in said), said


def test_said():
    """Weights of a scan: XLA adds their gradients up over the devices in each iteration whatever is constrained, and the list says so;
    plan.constrain carries what each device has."""
    def step(w, x):
        loss = lambda w: jax.lax.scan(lambda h, _: (jnp.tanh(h @ w), None), x, None, length=6)[0].sum()     # noqa: E731
        return w - 0.1 * jax.grad(loss)(w), x.sum()
    args = (jnp.ones((64, 64)) / 64, jnp.linspace(0, 1, 32 * 64).reshape(32, 64))
    plan = toast.plan(step, *args, mesh=MESH, device="a100-40", pins={"x": jax.sharding.PartitionSpec("data"), "w": jax.sharding.PartitionSpec()},
                      planner="propagate")
    moved = plan.report["constraints"]["moved_bytes"]
    assert moved["constraints"] > 2 * moved["annotated"] and moved["sums"] == moved["annotated"], moved
    said = str(plan.constraints)
    assert "plan.jit()" in said and "plan.constrain(step)" in said and "loop's iterations" in said and "are enough" not in said, said
    alone, both = (jax.jit(each, **shardings(plan)) for each in (with_list(plan, step), plan.constrain(step)))
    of_list, of_sums = (sum(hlo.collective_bytes(each.lower(*args).compile().as_text()).values()) for each in (alone, both))
    assert of_list <= 1.1 * moved["constraints"] + 1024 and of_list > 2 * moved["annotated"], (of_list, moved)
    assert of_sums <= 1.1 * moved["sums"] + 1024, (of_sums, moved)
    same(jax.jit(step)(*args), both(*args))


def summed(op, line, name, kind, dims, occurrence=0, alike=1):
    """a sum over data (and model, of two leading dimensions) whose operands' dims are cut so"""
    leading = (("data",), ("model",)) if any(1 in leads for _, cut in dims for leads in cut) else (("data",),)
    rank = kind.count(",") + 1
    return listed.Sum(op, f"test_constrain.py:{line}", name, occurrence, alike, kind, jax.sharding.PartitionSpec(*[None] * rank), (), (), leading=leading,
                      cuts=tuple(listed.Cut(operand, tuple(tuple(leading[lead][0] for lead in leads) for leads in cut), cut) for operand, cut in dims))


def test_sums():
    """A dot, a scatter and a sum over dimensions meet by way of all that passes summands on; one all_reduce. Where something wants the
    whole, it is made once; what a list says of the sum holds. The values are the same."""
    here = test_sums.__code__.co_firstlineno
    def function(x, y, at, z):
        a = jax.lax.dot_general(x, y, (((0,), (0,)), ((), ())))
        b = jnp.zeros((6, 8)).at[at].add(y)
        c = jax.lax.reduce(z, jnp.bfloat16(0), jax.lax.add, (0,))
        g = (-a.T + 3.0 * b.reshape(8, 6)) / 2.0 - c.astype(jnp.float32).reshape(8, 6)
        return g, g * g, (g[:4] * 2).sum()

    rng = np.random.default_rng(3)
    args = tuple(jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in ((16, 6), (16, 8)))
    args = (*args, jnp.asarray(rng.integers(0, 6, 16), jnp.int32), jnp.asarray(rng.standard_normal((16, 48)), jnp.bfloat16))
    split = jax.sharding.PartitionSpec("data")
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()).reshape(4, 2), ("data", "model"))
    for lead in ((0,), (0, 1)):
        cut, none = (lead,), ((),)
        sums = [summed("stablehlo.dot_general", here + 5, "f/dot_general", "f32[6,8]", ((0, cut + none), (1, cut + none))),
                summed("stablehlo.scatter", here + 6, "f/scatter-add", "f32[6,8]", ((1, cut + none), (2, cut + none))),
                summed("stablehlo.reduce", here + 7, "f/reduce_sum", "bf16[48]", ((0, cut + none),))]
        wanted = [constraining.Constraint("stablehlo.subtract", f"test_constrain.py:{here + 8}", "f/sub", 0, 1, "f32[8,6]", split, (), ())]
        sharding = [jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(("data", "model") if len(lead) > 1 else "data"))] * 4
        with warnings.catch_warnings():
            warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
            step = jax.jit(constraining.constrained(function, wanted, mesh, [], sums), in_shardings=tuple(sharding))
            text = step.lower(*args).compile().as_text()
        moved = hlo.collective_bytes(text)
        alone = hlo.collective_bytes(jax.jit(by_hand(function, wanted), in_shardings=tuple(sharding)).lower(*args).compile().as_text())
        most = len(lead) * 8 * 6 * 4 + 16     # XLA reduces over one leading dimension after the other
        assert 0 < moved["all-reduce"] <= most < alone["all-reduce"], (moved, alone, lead)
        for one, other in zip(function(*args), step(*args), strict=True):      # a bfloat16 sum of 16 rounds otherwise in another order
            assert np.abs(np.asarray(one) - np.asarray(other)).max() <= 0.05 * np.abs(np.asarray(one)).max(), lead


def test_sums_of_loops():
    """Two loops at one place, each with a sum of its own that it carries, from a beginning that is not zero; whole where a body reads it."""
    def function(x, w):
        run = lambda c, s: jax.lax.scan(lambda c, row: (c + row.T @ row, row.sum()), c, s)    # noqa: E731
        first, ys = run(w, x)
        second, _ = run(first * 2, x + 1)
        return first, second, ys, jax.lax.fori_loop(0, 3, lambda i, c: c + x[i].T @ x[i], w)

    here = test_sums_of_loops.__code__.co_firstlineno + 3
    x, w = jnp.linspace(-1, 1, 3 * 8 * 4).reshape(3, 8, 4), jnp.ones((4, 4))
    sums = [summed("loop value", here, "", "f32[4,4]", (), k, 2) for k in range(2)] + [summed("loop value", here + 3, "", "f32[4,4]", ())]
    made = [summed("stablehlo.dot_general", here, "f/while/body/closed_call/dot_general", "f32[4,4]",
                   ((0, ((), (0,))), (1, ((0,), ()))), k, 2) for k in range(2)]
    made.append(summed("stablehlo.dot_general", here + 3, "f/while/body/dot_general", "f32[4,4]", ((0, ((), (0,))), (1, ((0,), ())))))
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()).reshape(4, 2), ("data", "model"))
    given = tuple(jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec)) for spec in ((None, "data"), ()))
    for chosen, times in ((sums + made, 1), (made, 3), (sums[:1] + made[:1], 3), (sums, 3)):     # what is carried so, and what is added to it
        with warnings.catch_warnings():
            warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
            step = jax.jit(constraining.constrained(function, [], mesh, [], chosen), in_shardings=given)
        reduced = hlo.collective_bytes(step.lower(x, w).compile().as_text())["all-reduce"]
        assert (reduced <= 3 * 64 + 64) == (times == 1), (reduced, len(chosen))
        same(function(x, w), step(x, w))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", toast.DoubtfulConstraintWarning)
            jax.make_jaxpr(constraining.constrained(lambda x, w: x.sum() + w.sum(), [], mesh, [], made))(x, w)
    except toast.DoubtfulConstraintWarning as warning:
        assert "3 of 3 sums" in str(warning), warning
    else:
        raise AssertionError("sums that are nowhere are dropped")


def test_not_found():
    step, args, plan = planned(lambda: models.gpt(vocabulary=512), 0.3)
    other = lambda *a: jax.tree_util.tree_map(jnp.copy, (a[0], jnp.float32(0)))      # noqa: E731  makes none of the values
    try:
        jax.make_jaxpr(plan.constrain(other))(*args)
    except toast.PlanMismatch as error:
        assert "constraints are of values" in str(error), error
    else:
        raise AssertionError("constraints that are nowhere are dropped")
    each = listed.Constraint("stablehlo.tanh", "test_constrain.py:1", "f/tanh", 0, 1, "f32[8]", jax.sharding.PartitionSpec("data"), (), (), 90)
    for moved in (1000, 800):       # worth a tenth of it at most, or more
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                jax.make_jaxpr(constraining.constrained(jnp.sin, [each], plan.mesh, [], (), moved))(jnp.ones(8))
                assert moved == 1000 and any("90 bytes a device more than 1,000" in str(each.message) for each in said), said
            except toast.PlanMismatch:
                assert moved == 800


def test_bytes():
    step, args, plan = planned(lambda: models.gpt(vocabulary=512), 0.3)
    specs, listed, annotated = (sum(hlo.collective_bytes(f.lower(*args).compile().as_text()).values()) for f in (
        jax.jit(step, **shardings(plan)), jax.jit(plan.constrain(step), **shardings(plan)), plan.jit()))
    print(f"{plan.found_by}: specs alone {specs:,}, {len(plan.constraints)} constraints {listed:,}, plan.jit() {annotated:,} bytes")


if __name__ == "__main__":
    sys.exit(support.run_all(*([test_bytes] if sys.argv[1:] == ["bytes"] else [test_numbers, test_each_once, test_in_scan, test_loops, test_some_uses,
                                                                                         test_results_of_loops, test_results_of_loops_that_read_weights,
                                                                                         test_remat_and_functions, test_scopes, test_products_are_seen,
                                                                                         test_doubt, test_said, test_sums, test_sums_of_loops, test_not_found])))

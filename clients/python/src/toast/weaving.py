"""Constraints woven into a function: its jaxpr evaluated equation by equation, with_sharding_constraint where it is meant.

Equations inside jit, remat, custom derivatives, scans, loops and conditionals are followed: a body gets its constraints
inside and stays one. What a loop carries is constrained where the body begins, what a scan stacks and what a loop only reads
outside it; a slice of what a scan reads where the body begins. Values may be Summands (summing.py) on the way, in functions
and through loops; remat, conditionals and results get whole sums. Equations and StableHLO ops are told apart as
constraining.py says. Promises: equations are evaluated in their order, none twice; what was found, and how many values
looked alike, is said. Never raises for what it does not find.
"""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.extend
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from . import summing
from .listed import Constraint, Sum
from .summing import Summands


_FOLLOWED = ("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
_REMADE = ("remat", "remat2", "checkpoint")
_FUNCTIONS = ("jit", "pjit")    # lowered to functions of their own, whose ops have no place in the source where JAX shares them
_NAMES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16", "int32": "i32", "int64": "i64", "int8": "i8",
          "uint8": "ui8", "uint32": "ui32", "bool": "i1", "complex64": "complex<f32>"}


def _type_of(aval: Any, prefix: str = "") -> str:
    return f"{_NAMES.get(str(aval.dtype), str(aval.dtype))}[{prefix}{','.join(map(str, aval.shape))}]".replace(",]", "]")


def _place(eqn: Any) -> str:
    from jax._src import source_info_util
    try:
        frame = source_info_util.user_frame(eqn.source_info.traceback)
    except AttributeError:      # JAX 0.4.38 takes the whole
        frame = source_info_util.user_frame(eqn.source_info)
    return f"{frame.file_name}:{frame.start_line}" if frame else ""


def _has_place(location: str) -> bool:
    return re.search(r":\d+$", location) is not None


def _same_place(place: str, location: str) -> bool:
    file, _, line = place.rpartition(":")
    wanted, _, number = re.sub(r":\d+:\d+$", lambda m: m.group(0).rpartition(":")[0], location).rpartition(":")
    return bool(file) and line == number and (file.endswith(wanted) or wanted.endswith(file))


def _primitive(op: str) -> str:
    name = op.removeprefix("stablehlo.")
    return {"multiply": "mul", "subtract": "sub", "divide": "div", "exponential": "exp", "add": "add", "convert": "convert_element_type",
            "maximum": "max", "minimum": "min", "negate": "neg", "select": "select_n", "logistic": "logistic",
            "reduce": "reduce_", "broadcast_in_dim": "broadcast_in_dim", "convolution": "conv_general_dilated"}.get(name, name)


def _is(eqn: Any, op: str, location: str, name: str, inside: bool = True) -> bool:
    """inside: the equation stands in a function of its own."""
    primitive = name.rpartition("/")[2]
    made = eqn.primitive.name == primitive if primitive else eqn.primitive.name.startswith(_primitive(op))
    return made and (_same_place(_place(eqn), location) if _has_place(location) else inside)


def _alone(eqn: Any, given: Sequence[Any]) -> list[Any]:
    """The results of one equation."""
    from jax.extend.core import Jaxpr
    variables = [atom for atom in eqn.invars if not hasattr(atom, "val")]
    read = dict(zip(eqn.invars, given, strict=True)) if len(variables) == len(eqn.invars) else {
        atom: value for atom, value in zip(eqn.invars, given, strict=True) if not hasattr(atom, "val")}
    known = list(dict.fromkeys(variables))
    single = Jaxpr((), known, eqn.outvars, [eqn], effects=eqn.effects)
    return list(jax.core.eval_jaxpr(single, (), *[read[atom] for atom in known]))


def _lowers_to(eqn: Any, op: str) -> bool:
    """Whether JAX makes such an op when it lowers this one equation: of logistic, negate, exponential, add and divide."""
    types = [jax.ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype) for atom in eqn.invars]
    text = jax.jit(lambda *args: _alone(eqn, args)).lower(*types).as_text()
    return re.search(rf"\b{re.escape(op)}\b", text) is not None


def _inner(eqn: Any) -> Any:
    """The jaxpr that an equation which is followed calls; None of others."""
    if eqn.primitive.name not in (*_FOLLOWED, *_REMADE):
        return None
    return next((eqn.params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in eqn.params), None)


def _joined(*names: str) -> str:
    return "/".join(name for name in names if name)


def _scope(eqn: Any, outer: str) -> str:
    """Of an equation of a function whose name is `outer`: "jvp(Net)/encoder/jit(_take)"."""
    return _joined(outer, str(eqn.source_info.name_stack))


def _function(eqn: Any, outer: str) -> str:
    """The name of what is inside this equation."""
    return _joined(_scope(eqn, outer), f"jit({eqn.params['name']})" if eqn.primitive.name in _FUNCTIONS else "")


def _named(jaxpr: Any, outer: str = "") -> Iterator[tuple[str, Any]]:
    """The equations of functions by their scopes. Not those inside loops and remat, whose scopes in a module are others."""
    for eqn in jaxpr.eqns:
        yield _scope(eqn, outer), eqn
        inner = _inner(eqn)
        if inner is not None and eqn.primitive.name in _FOLLOWED:
            yield from _named(getattr(inner, "jaxpr", inner), _function(eqn, outer))


def _inside_step(scope: str) -> str:
    """A scope without the functions around the step: "jit(step)/jit(main)/encoder" is "encoder"."""
    return re.sub(r"^(jit\([^()]*\)(/|$))+", "", scope)


@dataclasses.dataclass(frozen=True)
class _Body:
    """A jaxpr of a loop: operands are constants, what is carried, slices of what a scan reads."""
    parameter: str
    closed: Any
    constants: list[Any]        # the equation's variables
    carries: int

    @property
    def slices(self) -> list[Any]:
        return list(self.closed.jaxpr.invars[len(self.constants) + self.carries:])


def _only_sliced(body: Any, variable: Any) -> bool:
    return not any(variable is atom and (eqn.primitive.name != "dynamic_slice" or k > 0) for eqn in body.eqns for k, atom in enumerate(eqn.invars))


@dataclasses.dataclass(frozen=True)
class _Loop:
    """A scan or a while by its parts."""
    bodies: list[_Body]         # the last one is run each time; a while's condition before it
    inputs: list[int]           # operands that it only reads
    passed: list[int]           # of those what no result is: a module's loop hands them on before what changes, where its body takes
                                # slices of them alone (what it reads otherwise it names itself)
    carried: list[int]          # results that are another value each time: what it carries, then what it stacks
    carries: int
    begins: int                 # the operand that the first of these begins with

    def inside(self, operand: int) -> Any:
        """The variable that a body has for an operand; of what a scan slices, for the slice."""
        last = self.bodies[-1]
        own = self.begins - len(last.constants)     # a while's condition has constants of its own
        return (last if operand >= own else self.bodies[0]).closed.jaxpr.invars[operand - own if operand >= own else operand]

    @staticmethod
    def of(eqn: Any) -> _Loop:
        params, variables = eqn.params, list(eqn.invars)
        if eqn.primitive.name == "scan":
            constants, carries = params["num_consts"], params["num_carry"]
            bodies, stacked = [_Body("jaxpr", params["jaxpr"], variables[:constants], carries)], range(constants + carries, len(variables))
        else:
            condition, constants, carries = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"], len(eqn.outvars)
            bodies, stacked = [_Body("cond_jaxpr", params["cond_jaxpr"], variables[:condition], carries),
                               _Body("body_jaxpr", params["body_jaxpr"], variables[condition:constants], carries)], range(0)
        body, before = bodies[-1].closed.jaxpr, len(bodies[-1].constants)
        kept = [i for i in range(carries) if body.outvars[i] is body.invars[before + i]]
        named = constants - before      # a while's condition has constants of its own
        passed = [*(k for k in range(named, constants) if _only_sliced(body, body.invars[k - named])), *stacked]
        return _Loop(bodies, [*range(constants), *(constants + i for i in kept), *stacked], passed,
                     [i for i in range(len(eqn.outvars)) if i not in kept], carries, constants)


def _readers(jaxpr: Any) -> dict[Any, list[Any]]:
    """The equations that read a variable; None beside them: the caller does, too."""
    out: dict[Any, list[Any]] = {}
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            if not hasattr(atom, "val"):
                out.setdefault(atom, []).append(eqn)
    for atom in jaxpr.outvars:
        if not hasattr(atom, "val") and atom in out:    # read here and by the caller
            out[atom].append(None)
    return out


def _meets(variable: Any, readers: dict[Any, list[Any]]) -> bool:
    """Whether summands of a variable are to go on as such: to one equation, which adds them to others, calls a function or a loop, or
    passes them on to one that does; or to whoever called. What is read twice would be reduced twice."""
    read = readers.get(variable, ())
    if len(read) != 1:
        return not read
    eqn = read[0]
    if eqn.primitive.name in (*_FOLLOWED, "scan", "while") or summing.adds(eqn):
        return True
    return summing.may_pass(eqn, variable) and _meets(eqn.outvars[0], readers)


def _wholes(values: list[Any]) -> list[Any]:
    return [summing.whole(x) for x in values]


_Uses = dict[Any, "list[tuple[int, Constraint]]"]     # constraints that only some uses of a variable read


class Run:
    """One evaluation of the jaxpr with constraints put in."""

    def __init__(self, constraints: Sequence[Constraint], mesh: Mesh, jaxpr: Any, ops: Sequence[int] | None = None,
                 lowered: frozenset[int] = frozenset()) -> None:
        """jaxpr: that will be evaluated. ops: of each constraint, how many ops alike its equation becomes (several(); x ** 3 is two
        multiplications). lowered: constraints whose value no equation makes: the result, of the same type, of one that lowers to such
        an op gets it."""
        self.wanted = list(constraints)
        self.sums = {i: each for i, each in enumerate(self.wanted) if isinstance(each, Sum)}
        self.mesh = mesh
        self.ops = list(ops or [1] * len(self.wanted))
        self.seen = [0] * len(self.wanted)
        self.found = [False] * len(self.wanted)
        self.functions = 0      # that the equations at hand stand in
        self.scope: str | None = ""     # of the jaxpr at hand; None in loops and what is computed again
        self.lowered = lowered
        self._lowers: dict[tuple[Any, ...], bool] = {}
        self._of_type: dict[str, list[int]] = {}
        for i, each in enumerate(self.wanted):
            self._of_type.setdefault(each.type, []).append(i)
        named: dict[str, list[tuple[str, Any]]] = {}
        for scope, eqn in _named(jaxpr):
            named.setdefault(_inside_step(scope), []).append((scope, eqn))
        self.alone = frozenset(
            i for i, each in enumerate(self.wanted)
            if sum(self._is_called(i, eqn, scope) for scope, eqn in named.get(_inside_step(each.name.rpartition("/")[0]), ())) == 1)

    def several(self) -> list[int] | None:
        """For another run: how many ops alike each constraint's equation becomes; None: what was taken for granted holds."""
        ops = [each.alike // seen if seen and each.alike % seen == 0 and i not in self.alone else 1
               for i, (each, seen) in enumerate(zip(self.wanted, self.seen, strict=True))]
        return ops if ops != self.ops else None

    def counted(self, i: int) -> bool:
        """Whether the value that looks like what constraint i is for is the one; counts it."""
        self.seen[i] += 1
        return i in self.alone or self.seen[i] - 1 == self.wanted[i].occurrence // self.ops[i]

    def put(self, i: int, value: Any, spec: PartitionSpec | None = None) -> Any:
        self.found[i] = True
        if isinstance(value, Summands):
            return value.constrained(self.wanted[i].spec)
        return jax.lax.with_sharding_constraint(value, NamedSharding(self.mesh, self.wanted[i].spec if spec is None else spec))

    def arguments(self, names: Sequence[str], variables: Sequence[Any], leaves: list[Any]) -> _Uses:
        """Constrains arguments that all uses read so, in place; the others by variable."""
        uses: _Uses = {}
        for i, each in enumerate(self.wanted):
            if each.op == "argument" and each.location in names:
                at = list(names).index(each.location)
                if each.uses:
                    uses.setdefault(variables[at], []).append((i, each))
                else:
                    leaves[at] = self.put(i, leaves[at])
        return uses

    def meant(self, eqn: Any, op: str, variables: Sequence[Any], prefix: str = "", sums: bool = False, read: Sequence[Any] = (),
              uses: _Uses | None = None) -> dict[int, int]:
        """Of variables that this op of a loop's makes: which constraint (or sum) is for which. prefix: dimensions before their own, which
        the op that alone reads the value takes away. read: what is read in place of the variables, None where all read the same;
        a constraint that only some uses read so is noted there, in uses."""
        out: dict[int, int] = {}
        for i, each in enumerate(self.wanted):
            if (i in self.sums) != sums or each.op != op or not _same_place(_place(eqn), each.location):
                continue
            for k, variable in enumerate(variables):
                if _type_of(variable.aval, prefix) != each.type or not self.counted(i):
                    continue
                if each.uses and uses is not None and read[k] is not None:
                    uses[read[k]] = [*uses.get(read[k], ()), (i, each)]
                else:
                    out[k] = i
        return out

    def barrier(self, eqn: Any, variables: Sequence[Any], uses: _Uses) -> dict[int, int]:
        """What remat computes again from: JAX makes a barrier of it, in this order, where a derivative does. Which constraint is for which;
        those that only some uses read so are noted."""
        out: dict[int, int] = {}
        if not (eqn.params.get("differentiated") and eqn.params.get("prevent_cse")):
            return out
        for i, each in enumerate(self.wanted):
            if each.op != "stablehlo.optimization_barrier" or (_has_place(each.location) and not _same_place(_place(eqn), each.location)):
                continue
            for k, variable in enumerate(variables):
                if _type_of(variable.aval) != each.type or not self.counted(i):
                    continue
                if each.uses:
                    uses[variable] = [*uses.get(variable, ()), (i, each)]
                else:
                    out[k] = i
        return out

    def _lowers_to(self, i: int, eqn: Any) -> bool:
        """Whether the equation is not such an op as constraint i is for, but lowers to one."""
        name, op = eqn.primitive.name, self.wanted[i].op
        if name in (*_FOLLOWED, *_REMADE, "scan", "while", "cond") or name.startswith(_primitive(op)):
            return False
        key = (name, op, *(str(atom.aval) for atom in eqn.invars))
        if key not in self._lowers:
            self._lowers[key] = _lowers_to(eqn, op)
        return self._lowers[key]

    def _is_called(self, i: int, eqn: Any, scope: str) -> bool:
        """Whether the equation, in this scope, is called and typed as what constraint i is for."""
        each = self.wanted[i]
        around, _, primitive = each.name.rpartition("/")
        return (bool(around) and _inside_step(around) == _inside_step(scope) and
                each.type in (_type_of(variable.aval) for variable in eqn.outvars) and
                (self._lowers_to(i, eqn) if i in self.lowered else eqn.primitive.name == primitive))

    def makes(self, i: int, eqn: Any) -> bool:
        """Whether this equation makes what constraint i is for, or what looks like it: by its scope where one equation alone has it."""
        each = self.wanted[i]
        if i in self.alone:
            return self.scope is not None and self._is_called(i, eqn, _scope(eqn, self.scope))
        if i not in self.lowered:
            return _is(eqn, each.op, each.location, each.name, self.functions > 0)
        placed = _same_place(_place(eqn), each.location) if _has_place(each.location) else self.functions > 0
        return placed and self._lowers_to(i, eqn)

    def summands(self, eqn: Any, given: list[Any]) -> Summands | None:
        """The result of one equation where it is kept as summands: passed on, or made here."""
        made = None
        for i in self._of_type.get(_type_of(eqn.outvars[0].aval), ()) if len(eqn.outvars) == 1 else ():
            if i in self.sums and self.makes(i, eqn) and self.counted(i):
                made = i
        if any(isinstance(x, Summands) for x in given):
            return summing.passed(eqn, lambda *args: _alone(eqn, args)[0], given)
        if made is None or not summing.can_be_made(self.sums[made], given, self.mesh):
            return None
        self.found[made] = True
        return summing.made(self.sums[made], lambda *args: _alone(eqn, args)[0], given, self.mesh)

    def constrain(self, eqn: Any, values: list[Any], uses: _Uses) -> None:
        """Constrains results that all uses read so, in place; notes the others."""
        for k, variable in enumerate(eqn.outvars):
            for i in self._of_type.get(_type_of(variable.aval), ()):
                if i in self.sums or not self.makes(i, eqn) or not self.counted(i):
                    continue
                if self.wanted[i].uses:
                    uses.setdefault(variable, []).append((i, self.wanted[i]))
                else:
                    values[k] = self.put(i, values[k])

    def evaluate(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], uses: _Uses | None = None) -> tuple[list[Any], _Uses]:
        """Results, and which constraints are for uses of this jaxpr's variables. uses: those of its operands."""
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, args, strict=True))
        for_uses: _Uses = dict(uses or {})
        made: dict[tuple[Any, int], Any] = {}
        readers = _readers(jaxpr)

        def kept(variable: Any, value: Any) -> Any:
            return value.whole() if isinstance(value, Summands) and not _meets(variable, readers) else value

        def of(atom: Any, eqn: Any = None) -> Any:
            if hasattr(atom, "val"):
                return atom.val
            for i, each in for_uses.get(atom, ()) if eqn is not None else ():
                if any(_is(eqn, *use, self.functions > 0) for use in each.uses):
                    if (atom, i) not in made:
                        made[atom, i] = self.put(i, values[atom])
                    return made[atom, i]
            return values[atom]

        for variable in jaxpr.invars:
            values[variable] = kept(variable, values[variable])
        for eqn in jaxpr.eqns:
            given = [of(atom, eqn) for atom in eqn.invars]
            results = self.equation(eqn, given, for_uses)
            self.constrain(eqn, results, for_uses)
            values.update((variable, kept(variable, result)) for variable, result in zip(eqn.outvars, results, strict=True))
        return [of(atom) for atom in jaxpr.outvars], for_uses

    def equation(self, eqn: Any, given: list[Any], uses: _Uses) -> list[Any]:
        """The results of one equation, with constraints in what stands inside it."""
        name = eqn.primitive.name
        if name in ("scan", "while"):
            return self.loop(eqn, given, uses)
        if name not in _FOLLOWED:
            kept = self.summands(eqn, given)
            if kept is not None:
                return [kept]
            given = _wholes(given)
        if name == "cond":
            branches = tuple(self.remade(each, self.inside(each.jaxpr, eqn.invars[1:], uses)) for each in eqn.params["branches"])
            return _alone(eqn.replace(params=dict(eqn.params, branches=branches)), given)
        inner = _inner(eqn)
        if inner is None:
            return _alone(eqn, given)
        body = getattr(inner, "jaxpr", inner)
        read = self.inside(body, eqn.invars, uses)
        if name in _FOLLOWED:
            outer = self.scope
            self.scope = None if outer is None else _function(eqn, outer)
            self.functions += name in _FUNCTIONS
            results, for_uses = self.evaluate(body, getattr(inner, "consts", ()), given, read)
            self.functions -= name in _FUNCTIONS
            self.scope = outer
            for variable, atom in zip(eqn.outvars, body.outvars, strict=True):
                if not hasattr(atom, "val") and atom in for_uses:
                    uses[variable] = for_uses[atom]
            return results
        barred = self.barrier(eqn, body.invars, read)
        again = self.remade(jax.extend.core.ClosedJaxpr(body, ()), read,     # stays one equation, so that it is computed again
                            lambda args: [self.put(barred[k], x) if k in barred else x for k, x in enumerate(args)])
        return _alone(eqn if again.consts else eqn.replace(params=dict(eqn.params, jaxpr=again.jaxpr)), given)

    @staticmethod
    def inside(body: Any, operands: Sequence[Any], uses: _Uses) -> _Uses:
        """Constraints of a jaxpr's first operands, by the variables that they are inside."""
        named = [(variable, atom) for variable, atom in zip(body.invars, operands, strict=False) if not hasattr(atom, "val")]
        return {variable: uses[atom] for variable, atom in named if atom in uses}

    def remade(self, closed: Any, uses: _Uses, first: Callable[[list[Any]], list[Any]] = lambda args: args,
               last: Callable[[list[Any]], list[Any]] = _wholes, leading: Mapping[int, tuple[int, ...]] | None = None) -> Any:
        """The same jaxpr with constraints in it. first, last: what is done to its operands before, to its results after. leading: sizes
        before those of operands that are summands."""
        sizes = leading or {}
        types = [jax.ShapeDtypeStruct((*sizes.get(k, ()), *v.aval.shape), v.aval.dtype, **({"weak_type": v.aval.weak_type} if hasattr(v.aval, "weak_type")
                                                                                          else {})) for k, v in enumerate(closed.jaxpr.invars)]
        outer, self.scope = self.scope, None
        try:
            return jax.make_jaxpr(lambda *args: last(self.evaluate(closed.jaxpr, closed.consts, first(list(args)), uses)[0]))(*types)
        finally:
            self.scope = outer

    def body(self, eqn: Any, body: _Body, carried: dict[int, int], uses: _Uses, sums: dict[int, int]) -> Any:
        """A loop's jaxpr with constraints in it. carried, sums: of what it carries, by position."""
        start, inside = len(body.constants), body.closed.jaxpr
        read = self.inside(inside, body.constants, uses) | {variable: uses.pop(variable) for variable in inside.invars if variable in uses}

        def first(args: list[Any]) -> list[Any]:
            for k, i in sums.items():
                args[start + k] = summing.carried(self.sums[i], args[start + k], self.mesh)
            for k, i in carried.items():
                args[start + k] = self.put(i, args[start + k])
            for op, prefix in (("stablehlo.dynamic_slice", "1,"), ("stablehlo.reshape", "")):
                for k, i in self.meant(eqn, op, body.slices, prefix, read=body.slices, uses=None if prefix else read).items():
                    at = start + body.carries + k
                    args[at] = self.put(i, args[at], PartitionSpec(*self.wanted[i].spec[1 if prefix else 0:]))
            return args

        def last(results: list[Any]) -> list[Any]:
            return [summing.begun(self.sums[sums[k]], x, self.mesh).array if k in sums else summing.whole(x) for k, x in enumerate(results)]

        returns = body.parameter != "cond_jaxpr"
        return self.remade(body.closed, read, first, last if returns else _wholes,
                           {start + k: summing.sizes(self.sums[i], self.mesh) for k, i in sums.items()})

    def loop(self, eqn: Any, given: list[Any], uses: _Uses) -> list[Any]:
        """A scan or a while: what it only reads, and what it stacks, is constrained outside, what it carries where the body begins; what
        only some uses read so, there. A sum that it carries is summands all the way."""
        loop = _Loop.of(eqn)
        sliced = range(loop.begins + loop.carries, len(eqn.invars))
        read = [None if at in sliced else loop.inside(at) for at in loop.inputs]
        for k, i in self.meant(eqn, "loop input", [eqn.invars[at] for at in loop.inputs], read=read, uses=uses).items():
            given[loop.inputs[k]] = self.put(i, given[loop.inputs[k]])
        outside: dict[int, int] = {}
        inside: dict[int, int] = {}
        changed = [eqn.outvars[at] for at in loop.carried]
        read = [loop.inside(loop.begins + at) if at < loop.carries else None for at in loop.carried]
        for k, i in self.meant(eqn, "loop value", changed, read=read, uses=uses).items():
            (inside if loop.carried[k] < loop.carries else outside)[loop.carried[k]] = i
        sums = {loop.carried[k]: i for k, i in self.meant(eqn, "loop value", changed, sums=True).items() if loop.carried[k] < loop.carries}
        results_of_while = [*(eqn.invars[at] for at in loop.passed), *eqn.outvars]
        for k, i in self.meant(eqn, "stablehlo.while", results_of_while, read=results_of_while, uses=uses).items():
            if k >= len(loop.passed):
                outside[k - len(loop.passed)] = i
        for k, i in self.meant(eqn, "stablehlo.dynamic_update_slice", eqn.outvars[loop.carries:]).items():
            outside[loop.carries + k] = i
        bodies = {body.parameter: self.body(eqn, body, inside if body is loop.bodies[-1] else {}, uses, sums) for body in loop.bodies}
        looped = eqn.replace(params=dict(eqn.params, **bodies))
        for k, i in sums.items():
            self.found[i] = True
            given[loop.begins + k] = summing.begun(self.sums[i], given[loop.begins + k], self.mesh).array
        given = [summing.whole(x) for x in given]
        results = list(looped.primitive.bind(*given, **looped.params)) if sums else _alone(looped, given)
        for k, i in sums.items():
            results[k] = summing.carried(self.sums[i], results[k], self.mesh)
        for k, i in outside.items():
            results[k] = self.put(i, results[k])
        return results

#!/usr/bin/env python3
# label: unit
"""What the referee of the price reads, on a log and a module of XLA:GPU that were kept (shortened): a small GPT train step as
fsdp:data+megatron:model on data=4,model=2, H100. And how it compares, on figures that are worked out by hand. No JAX."""
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests/house/referee"
sys.path[:0] = [str(ROOT / "clients/python/src"), str(ROOT / "bench")]
import referee_log  # noqa: E402
from toast_referee import compare, compilers, devices, libtpu, modules, schedule  # noqa: E402


def close(found, wanted):
    return abs(found - wanted) <= 1e-6 * max(1, abs(wanted))


def test_schedule():
    """the figures after scheduling, not those before; times of collectives by kind"""
    said = schedule.read((KEPT / "schedule.log").read_text().splitlines())
    assert said["scheduled_us"] == 478.278 and said["exposed_us"] == 420.691, said
    assert said["exposed_us_by_kind"] == {"all_reduce": 280.723, "all_gather": 127.773, "reduce_scatter": 12.1955}, said
    assert close(said["communication_us_by_kind"]["all_reduce"], 4 * 24.224), said
    nothing = schedule.read(["I1123 sol_latency_estimator.cc:503] NodeCost: Fallback cost for param.230: 0 us"])
    assert nothing["scheduled_us"] is None and nothing["exposed_us"] == 0, nothing


def test_module():
    """one matmul, one fusion, one softmax in Triton and a copy that the estimate takes as free; asynchronous collectives"""
    text = (KEPT / "final.hlo").read_text()
    said = modules.times(text, 3.2e12)
    assert (said["matmuls"], said["kernels"], said["copies"]) == (1, 2, 1), said
    assert close(said["matmul_us"], 0.0075) and close(said["other_us"], 0.0385 + 0.01), said
    moved = 2 * 4 * 2 * 4 * 32 * 32 + 2 * 4 * 32 * 16   # softmax: operand and result, f32; the copy alike
    assert close(said["unpriced_us"], moved / (0.9 * 3.2e12) * 1e6), said
    rows = {row["kind"]: row for row in modules.collectives(text)}
    assert rows["all_reduce"] == {"kind": "all_reduce", "group": 2, "operations": 1, "tensors": 1, "bytes": 4 * 2 * 32 * 64}, rows
    assert rows["all_gather"] == {"kind": "all_gather", "group": 2, "operations": 1, "tensors": 4, "bytes": 4 * 4 * 16 * 192}, rows
    assert rows["reduce_scatter"]["tensors"] == 28 and rows["reduce_scatter"]["group"] == 4, rows


LOOPS = """HloModule m

%body (a: (s32[], f32[8])) -> (s32[], f32[8]) {
  %fusion.1 = f32[8]{0} fusion(%x), kind=kLoop, calls=%f, backend_config={"reification_cost":[{"exec_time_us":2.5,"name":"sol"}]}
  %copy.1 = f32[8]{0} copy(%fusion.1)
  %while.1 = (s32[]) while(%t), condition=%c, body=%inner, backend_config={"known_trip_count":{"n":"3"}}
}

%inner (a: s32[]) -> s32[] {
  %fusion.2 = f32[8]{0} fusion(%x), kind=kLoop, calls=%f, backend_config={"reification_cost":[{"exec_time_us":1.0,"name":"sol"}]}
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %fusion.3 = f32[8]{0} fusion(%x), kind=kLoop, calls=%f, backend_config={"reification_cost":[{"exec_time_us":7.0,"name":"sol"}]}
  %while.2 = (s32[], /*index=1*/f32[8]{0}) while(%t), condition=%c, body=%body, backend_config={"known_trip_count":{"n":"5"}}
  %while.3 = (s32[]) while(%t), condition=%c, body=%inner
}
"""


def test_loops():
    """a loop's kernels count as often as they run; what the schedule has of its body is not added again"""
    assert modules.trips(LOOPS) == {"main": 1, "body": 5, "inner": 16}, modules.trips(LOOPS)
    said = modules.times(LOOPS, 3.2e12)
    assert close(said["other_us"], 7 + 5 * 2.5 + 16 * 1.0) and said["kernels"] == 3, said
    assert close(said["unscheduled_us"], 5 * 2.5 + 16 * 1.0), said
    assert close(said["unpriced_us"], 5 * 64 / (0.9 * 3.2e12) * 1e6), said
    assert close(modules.times(LOOPS, 3.2e12, ["main", "body"])["unscheduled_us"], 16 * 1.0)
    log = ["Statistics after scheduling:"]
    for name, total, wasted in (("main", 20, 4), ("body", 6, 1.5)):
        log += [f"For computation: {name}, module m(1)", f"Total wasted cycles: {wasted}", f"Wasted cycles for all-gather: {wasted}",
                f"Total cycles: {total}"]
    read = schedule.read(log, modules.trips(LOOPS))
    assert read["scheduled_us"] == 20 + 5 * 6 and read["exposed_us"] == 4 + 5 * 1.5, read
    assert read["exposed_us_by_kind"] == {"all_gather": 11.5} and read["scheduled"] == ["body", "main"], read
    assert schedule.read(log[:1] + log[5:], modules.trips(LOOPS))["scheduled_us"] is None   # the entry is not among them
    assert schedule.read(log)["scheduled_us"] == 20


def test_shapes_and_groups():
    assert modules.bytes_of("(bf16[8,2]{1,0}, pred[3], f32[])") == 32 + 3 + 4
    assert modules.bytes_of("f8e4m3fn[16]{0}") == 16
    assert modules.group_size("{{0,4,8,12},{1,5,9,13}}") == 4
    assert modules.group_size("[2,8]<=[4,4]T(1,0)") == 8
    assert modules.group_size("mesh['data'=4,'model'=2] {'data'}") == 4
    assert modules.group_size("mesh['data'=4,'model'=2] {'data':(1)2,'model'}") == 4


def test_libtpu():
    """bytes in HBM of a buffer assignment: parameters, results in them and beside them, the heap; on-chip memory has a color"""
    text = """BufferAssignment:
allocation 0: size 4096, page 0, parameter 0, shape |f32[1024]| at ShapeIndex {}, maybe-live-out:
 value: <14 param @0> (size=4096,offset=0): f32[1024]{0:T(1024)}
allocation 1: size 512, page 0, parameter 1, shape |f32[]| at ShapeIndex {}:
allocation 2: size 1024, page 0, output shape is |f32[256]|, maybe-live-out:
allocation 3: size 777, color 1, page 0, preallocated-temp:
allocation 4: size 8192, page 0, preallocated-temp:
allocation 5: size 256, page 0, thread-local:
"""
    assert libtpu.assignment(text) == {"arguments": 4608, "outputs": 5120, "alias": 4096, "temporaries": 8192}


def test_libtpu_is_ended():
    """a compile is ended when the module is there too, which may come after the assignment, and not before"""
    program = """if True:
        import pathlib, sys, time
        folder = pathlib.Path(sys.argv[1]) / "dump"
        folder.mkdir()
        write = lambda name, text: (folder / ("module_0000.m." + name)).write_text(text)
        write("after_optimizations-buffer-assignment.txt", "BufferAssignment:")
        write("after_optimizations-memory-usage-report.txt", "report")
        time.sleep(2)
        write("after_optimizations.txt", "HloModule m")
        time.sleep(300)"""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        assert libtpu.run([sys.executable, "-c", program, folder], None, subprocess.DEVNULL, pathlib.Path(folder))
        assert libtpu.module(pathlib.Path(folder)) == "HloModule m" and time.monotonic() - start < 200


def row(name, ours, theirs, peak=1.0, fits=True):
    """a plan whose step is `ours` by the price and `theirs` by the compiler, in milliseconds"""
    price = {"step_ps": ours * 1e9, "compute_ps": ours * 1e9, "matmul_ps": ours * 5e8, "communication_ps": 0, "exposed_ps": 0,
             "peak_bytes": 1e9 * peak, "fits": fits}
    said = {"step_us": theirs * 1e3, "matmul_us": theirs * 400, "other_us": theirs * 500, "unpriced_us": theirs * 100,
            "communication_us": 0, "exposed_us": 0, "peak": 1e9}
    return {"plan": name, "price": price, "compiler": said}


def test_compare():
    """three plans, of which the compiler puts two within 5 %: that pair says nothing"""
    rows = [row("first", 10, 12), row("second", 11, 10), row("third", 12, 10.2, peak=1.5, fits=False)]
    found = compare.order(rows)
    assert found["pairs"] == 2 and found["tau"] == -1.0, found
    assert (found["chosen"], found["best"]) == ("first", "second") and close(found["loss"], 0.2), found
    assert compare.kendall([1, 2, 3], [10, 20, 30]) == (1.0, 3) and compare.kendall([1], [1]) == (None, 0)
    assert close(compare.ratios(rows, "matmul")[0], 5 / 4.8) and compare.ratios(rows, "exposed") == []
    assert compare.ratios(rows, "peak") == [1.0, 1.0, 1.5] and compare.misjudged(rows, 1.2e9) == ["third"]
    assert [entry["plan"] for entry in compare.ranked(rows, 2e9)] == ["second", "third", "first"]


def logged(model, plan, **more):
    return {"target": "h100", "mesh": "data=8", "model": model, "plan": plan, "module": f"{model} {plan}", "compiler": {"peak": 1}} | more


def test_log():
    """rows survive in the repository's file, packed to the same bytes each time; the folder's own win; other cases stay"""
    case = types.SimpleNamespace(target="h100", mesh="data=8", model="a")
    made = referee_log.shortened('{"hash": "x", "decisions": [1], "arguments": [2], "results": [], "constraints": []}')
    assert made == {"hash": "x", "decisions": [1]}, made
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        log = referee_log.Log(folder / "own.jsonl", folder / "kept")
        log.add(logged("a", "gone"))
        log.keep("gpu", [logged("b", "batch:data")], set())
        log.keep("gpu", [logged("a", "search", made=made), logged("a", "batch:data")], {("a", "data=8", "h100")})
        packed = (folder / "kept/gpu.jsonl.gz").read_bytes()
        log.keep("gpu", [logged("a", "batch:data"), logged("a", "search", made=made)], {("a", "data=8", "h100")})
        assert (folder / "kept/gpu.jsonl.gz").read_bytes() == packed
        fresh = referee_log.Log(folder / "nowhere.jsonl", folder / "kept")
        assert sorted(fresh.rows) == [("h100", "data=8", name) for name in ("a batch:data", "a search", "b batch:data")], fresh.rows
        assert fresh.get(case, "a search") == {"peak": 1} and fresh.get(case, "a gone") is None
        assert [row["made"] for row in fresh.found(case)] == [made]
        fresh.add(logged("a", "search", compiler={"peak": 2}))
        assert referee_log.Log(folder / "nowhere.jsonl", folder / "kept").get(case, "a search") == {"peak": 2}


def test_devices():
    """descriptions are balanced text protobufs with XLA's figures; an A100 has no rates"""
    for name, gpu in devices.GPUS.items():
        text = devices.describe(gpu)
        assert text.count("{") == text.count("}") and f"memory_bandwidth: {gpu.bandwidth_bytes}" in text, name
        assert ("matrix_unit_description" in text) == gpu.has_times, name
    assert len(re.findall("key: ", devices.describe(devices.H100))) == 6 + 16
    assert compilers.parse_mesh("data=4,model=2") == {"data": 4, "model": 2}


def test_programs_answer():
    """both programs say how they are used without JAX, refuse what they do not know, and toast-referee names what it lacks"""
    run = [sys.executable, "-m", "toast_referee"]
    environment = {"PYTHONPATH": str(ROOT / "clients/python/src"), "PATH": "/usr/bin:/bin"}
    for program in ([sys.executable, str(ROOT / "bench/referee")], run):
        asked = subprocess.run([*program, "--help"], capture_output=True, text=True, env=environment)
        assert asked.returncode == 0 and "usage: " in asked.stdout and not asked.stderr, asked
        assert subprocess.run([*program, "--no-such-option"], capture_output=True, env=environment).returncode == 2
    lacking = subprocess.run([*run, "--target", "h100", "no-such-plan.json"], capture_output=True, text=True, env=environment)
    assert lacking.returncode == 2 and "--module" in lacking.stderr, lacking


for check in (test_schedule, test_module, test_loops, test_libtpu, test_libtpu_is_ended, test_shapes_and_groups, test_compare, test_log, test_devices, test_programs_answer):
    check()
    print(check.__name__)

#!/usr/bin/env python3
# label: truth
# timeout: 300
"""toast.torch on eight CPU devices of torch_xla: a GPT planned, marked and trained is the GPT on its own; what it moves; errors."""
import atexit
import functools
import os
import pathlib
import shutil
import sys
import tempfile

import support

support.enter("torch")
DUMP = tempfile.mkdtemp(prefix="toast-torch-")
atexit.register(shutil.rmtree, DUMP, ignore_errors=True)
os.environ.update(PJRT_DEVICE="CPU", CPU_NUM_DEVICES="8",
                  XLA_FLAGS=f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={DUMP} --xla_dump_hlo_as_text")

import hlo  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch_xla  # noqa: E402
import torch_xla.runtime as runtime  # noqa: E402
from torch import nn  # noqa: E402

runtime.use_spmd()
sys.path.insert(0, os.path.join(support.SOURCE, "tests", "support"))
import torch_gpt  # noqa: E402

import toast  # noqa: E402
import toast.torch  # noqa: E402

MESH = {"data": 4, "model": 2}
VOCABULARY, WIDTH, HEADS, LENGTH, BATCH = 512, 64, 4, 32, 16


Gpt = functools.partial(torch_gpt.Gpt, VOCABULARY, WIDTH, HEADS)


def step(model, optimizer, tokens, targets):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    loss.backward()
    optimizer.step()
    return loss


def fresh(seed=0):
    torch.manual_seed(seed)
    model = Gpt().to(torch_xla.device())
    return model, torch.optim.AdamW(model.parameters(), 1e-3)


def batches(count):
    torch.manual_seed(1)
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH)) for _ in range(count)]


def planned(model, optimizer, **more):
    tokens = batches(1)[0].to(torch_xla.device())
    return toast.torch.plan(step, model, optimizer, tokens, tokens.clone(), mesh=MESH, device="a100-40", rollouts=1000, **more)


def train(model, optimizer, plan=None):
    losses = []
    for tokens in batches(3):
        tokens = tokens.to(torch_xla.device())
        targets = tokens.roll(-1, 1)
        torch_xla.sync()
        if plan:
            tokens, targets = plan.shard(tokens=tokens, targets=targets)
        loss = step(model, optimizer, tokens, targets)
        torch_xla.sync()
        losses.append(loss.item())
    return losses


def moved():
    """bytes of the step that was compiled last and takes most arguments"""
    texts = [path.read_text() for path in sorted(pathlib.Path(DUMP).glob("*after_optimizations.txt"), key=lambda path: path.stat().st_mtime)]
    steps = [text for text in texts if "num_partitions=8" in text and text.count(" parameter(") > 60]
    assert steps, "the step's module was not dumped"
    return sum(hlo.collective_bytes(steps[-1]).values())


def test_a_planned_gpt_trains_as_the_plain_one():
    model, optimizer = fresh()
    before = {name: value.cpu().clone() for name, value in model.state_dict().items()}
    plan = planned(model, optimizer, memory_limit="2MB")
    after = model.state_dict()
    assert all(torch.equal(value, after[name].cpu()) for name, value in before.items()) and not optimizer.state, "planning changes nothing"
    assert plan.fits and plan.step.text.count("tf.aliasing_output") == 3 * len(list(model.parameters())), "parameters and moments are donated"
    specs = plan.specs_by_name
    assert any(any(specs[name]) for name in before) and any(specs["tokens"]), "something is split"
    plan.apply(model, optimizer)
    losses = train(model, optimizer, plan)
    bytes_moved, wanted = moved(), hlo.comparable(plan.collectives, plan.axes)
    plain = train(*fresh())
    assert all(abs(a - b) < 1e-4 for a, b in zip(losses, plain, strict=True)), (losses, plain)
    described = torch_xla._XLAC._get_xla_sharding_spec
    for name, parameter in model.named_parameters():
        assert ("devices=" in described(parameter)) == any(specs[name]), name
        for key in ("exp_avg", "exp_avg_sq"):
            assert ("devices=" in described(optimizer.state[parameter][key])) == any(specs[f"{key}/{name}"]), (key, name)
    print(f"losses {losses}, alone {plain}; XLA moves {bytes_moved:,} bytes, the plan {wanted:,}")
    assert wanted <= bytes_moved <= 8 * wanted, "marks on parameters and inputs alone leave the inside to XLA (docs/clients.md)"


def test_pins_by_name():
    plan = planned(*fresh(), planner="propagate", pins={"layers.*.up.weight": ("model", None), "tokens": ("data",)})
    specs = plan.specs_by_name
    assert specs["layers.0.up.weight"] == specs["layers.1.up.weight"] == ("model", None) and specs["tokens"] == ("data", None)
    assert plan.input_sharding("tokens").can_apply(torch.zeros(BATCH, LENGTH))


def test_a_forward_pass_without_an_optimizer():
    def forward(model, tokens):
        return model(tokens)
    model, _ = fresh()
    plan = toast.torch.plan(forward, model, batches(1)[0].to(torch_xla.device()), mesh={"data": 8}, device="a100-40", planner="baselines")
    assert "tf.aliasing_output" not in plan.step.text and set(plan.specs_by_name) >= {"embed.weight", "tokens"}


def test_the_block_of_the_page():
    page = pathlib.Path(support.SOURCE, "docs/clients.md").read_text()
    block = "#" + page.partition("```python\n# torch_xla")[2].partition("```")[0]
    tokens = batches(1)[0].to(torch_xla.device())
    scope = {"Gpt": Gpt, "step": step, "torch": torch, "torch_xla": torch_xla, "tokens": tokens, "targets": tokens.clone()}
    exec(compile(block, "docs/clients.md", "exec"), scope)
    assert abs(scope["loss"].item() - 6.4) < 0.5 and scope["plan"].specs_by_name["layers.1.up.weight"] == ("model", None)


def refused(kind, *words, call):
    try:
        call()
    except toast.ToastError as error:
        assert type(error) is kind and all(word in str(error) for word in words), f"{type(error).__name__}: {error}"
        return
    raise AssertionError(f"no {kind.__name__}")


def test_errors_say_what_where_and_what_to_do():
    model, optimizer = fresh()
    refused(toast.PinError, "layers.0.upp.weight", "did you mean", call=lambda: planned(model, optimizer, pins={"layers.0.upp.weight": ("model",)}))
    refused(toast.LoweringError, "Gpt", "torch_xla.device()",
            call=lambda: toast.torch.plan(lambda m, x: m(x), Gpt(), torch.zeros(2, LENGTH, dtype=torch.long), mesh=MESH, device="h100"))
    plan = planned(model, optimizer, planner="propagate")
    refused(toast.PlanMismatch, "'weight'", call=lambda: plan.apply(nn.Linear(2, 2).to(torch_xla.device())))
    refused(toast.ArgumentsChanged, "tokenz", "did you mean 'tokens'", call=lambda: plan.shard(tokenz=torch.zeros(1)))
    plan.axes["data"] = 2
    refused(toast.MeshError, "4 devices", "torch_xla 8", call=lambda: plan.mesh)


if __name__ == "__main__":
    sys.exit(support.run_all(test_a_planned_gpt_trains_as_the_plain_one, test_pins_by_name, test_a_forward_pass_without_an_optimizer,
                             test_the_block_of_the_page, test_errors_say_what_where_and_what_to_do))

#!/usr/bin/env python3
# label: truth
# timeout: 900
"""toast.torch on eight CPU devices of torch_xla: a GPT, an encoder and a mixer planned, marked and trained are themselves and move what
the plan moves; norms as sums are torch's norms; marks go on once and come off; errors."""
import atexit
import copy
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
import torch_models  # noqa: E402

import toast  # noqa: E402
import toast.torch  # noqa: E402
from toast import torch_inside  # noqa: E402
import torch_xla.utils.checkpoint as of_torch_xla  # noqa: E402

MESH = {"data": 4, "model": 2}
VOCABULARY, WIDTH, HEADS, LENGTH, BATCH = 512, 64, 4, 32, 16


Gpt = functools.partial(torch_gpt.Gpt, VOCABULARY, WIDTH, HEADS)


def step(model, optimizer, tokens, targets):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens).flatten(0, -2), targets.flatten())
    loss.backward()
    optimizer.step()
    return loss


def fresh(seed=0, make=Gpt):
    torch.manual_seed(seed)
    model = make().to(torch_xla.device())
    return model, torch.optim.AdamW(model.parameters(), 1e-3)


def batches(count):
    torch.manual_seed(1)
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH)) for _ in range(count)]


def pairs_of_tokens(count):
    return [(tokens, tokens.roll(-1, 1)) for tokens in batches(count)]


def pairs_of_images(count):
    torch.manual_seed(1)
    return [(torch.randn(BATCH, 3, 32, 32), torch.randint(0, 64, (BATCH,))) for _ in range(count)]


def planned(model, optimizer, **more):
    tokens = batches(1)[0].to(torch_xla.device())
    return toast.torch.plan(step, model, optimizer, tokens, tokens.clone(), mesh=MESH, device="a100-40", rollouts=1000, **more)


def train(model, optimizer, plan=None, pairs=None):
    losses = []
    for pair in pairs or pairs_of_tokens(3):
        tokens, targets = (each.to(torch_xla.device()) for each in pair)
        torch_xla.sync()
        if plan:
            tokens, targets = plan.shard(tokens=tokens, targets=targets)
        loss = step(model, optimizer, tokens, targets)
        torch_xla.sync()
        losses.append(loss.item())
    return losses


def dumped():
    return sorted(pathlib.Path(DUMP).glob("*after_optimizations.txt"), key=lambda path: path.stat().st_mtime)


def moved(before):
    """bytes of the step that was compiled last, after those dumped before"""
    texts = [path.read_text() for path in dumped() if path not in before]
    steps = [text for text in texts if "num_partitions=8" in text and text.count(" parameter(") > 60]
    assert steps, "the step's module was not dumped: torch_xla compiles a module that it has compiled before no second time"
    return sum(hlo.collective_bytes(steps[-1]).values())


def trains_and_moves(name, plan, model, optimizer, make, pairs, most=1.2):
    before = set(dumped())
    losses = train(model, optimizer, plan, pairs)
    bytes_moved, wanted = moved(before), hlo.comparable(plan.collectives, plan.axes)
    plain = train(*fresh(0, make), pairs=pairs)
    print(f"{name}: losses {losses}, alone {plain}; XLA moves {bytes_moved:,} bytes, the plan {wanted:,}: {bytes_moved / wanted:.2f}", flush=True)
    assert all(abs(a - b) < 1e-5 * abs(b) + 1e-4 for a, b in zip(losses, plain, strict=True)), (losses, plain)
    assert 0.75 * wanted <= bytes_moved <= most * wanted, f"{name}: {bytes_moved:,} bytes for the plan's {wanted:,}"


def test_a_planned_gpt_trains_as_the_plain_one():
    model, optimizer = fresh()
    before = {name: value.cpu().clone() for name, value in model.state_dict().items()}
    plan = planned(model, optimizer, memory_limit="1.8MB")
    after = model.state_dict()
    assert all(torch.equal(value, after[name].cpu()) for name, value in before.items()) and not optimizer.state, "planning changes nothing"
    assert plan.fits and plan.step.text.count("tf.aliasing_output") == 3 * len(list(model.parameters())), "parameters and moments are donated"
    specs = plan.specs_by_name
    assert any(any(specs[name]) for name in before) and any(specs["tokens"]), "something is split"
    plan.apply(model, optimizer)
    trains_and_moves("GPT", plan, model, optimizer, Gpt, pairs_of_tokens(3))
    described = torch_xla._XLAC._get_xla_sharding_spec
    for name, parameter in model.named_parameters():
        assert ("devices=" in described(parameter)) == any(specs[name]), name
        for key in ("exp_avg", "exp_avg_sq"):
            assert ("devices=" in described(optimizer.state[parameter][key])) == any(specs[f"{key}/{name}"]), (key, name)


def test_other_models_on_other_meshes():
    encoder = functools.partial(torch_models.Encoder, VOCABULARY, WIDTH, 8, LENGTH)
    mixer = functools.partial(torch_models.Mixer, 32, WIDTH, 64)
    gpt = functools.partial(torch_gpt.Gpt, VOCABULARY, WIDTH, 2)     # of 4 heads the module may be the other test's: compiled before
    # the encoder's embedding is its output layer, too: GSPMD may reduce its two gradients one by one, the plan their sum
    for name, make, pairs, mesh, limit, most in (("encoder", encoder, pairs_of_tokens(3), {"data": 2, "model": 4}, None, 1.35),
                                                 ("mixer", mixer, pairs_of_images(3), {"data": 8}, None, 1.2),     # splits state alone
                                                 ("GPT", gpt, pairs_of_tokens(3), {"data": 8}, "1.8MB", 1.2)):
        model, optimizer = fresh(0, make)
        example = [each.to(torch_xla.device()) for each in pairs[0]]
        plan = toast.torch.plan(step, model, optimizer, *example, mesh=mesh, device="a100-40", rollouts=1000, memory_limit=limit)
        plan.apply(model, optimizer)
        trains_and_moves(f"{name} on {mesh}", plan, model, optimizer, make, pairs, most)


def test_norms_as_sums_are_norms():
    torch.manual_seed(0)
    layer, group, batch = nn.LayerNorm((5, 6)), nn.GroupNorm(2, 4), nn.BatchNorm2d(4)
    images = torch.randn(3, 4, 5, 6)
    for module in (layer, group, batch):
        nn.init.normal_(module.weight)
        nn.init.normal_(module.bias)
        found = []
        for watched in (False, True):
            if watched:
                torch_inside.watch([module], {})
            if module is batch:
                module.reset_running_stats()
            x = images.clone().requires_grad_()
            out = module(x)
            out.cos().sum().backward()
            found.append([out, x.grad, module.weight.grad.clone(), module.bias.grad.clone(), *(value.float().clone() for value in module.buffers())])
            module.zero_grad()
            half = copy.deepcopy(module).to(torch.bfloat16)(images.to(torch.bfloat16))
            assert half.dtype == torch.bfloat16 and (half.float() - out).abs().max() < 0.1
        torch_inside.leave([module])
        assert all(torch.allclose(a, b, atol=2e-5) for a, b in zip(*found, strict=True)), type(module).__name__
        assert not module._forward_hooks and not module._forward_pre_hooks
    batch.eval()
    before = batch(images)
    torch_inside.watch([batch], {})
    assert torch.equal(before, batch(images)), "in evaluation batch norm is what it was"


class Twice(nn.Module):
    """one block, called two times, the second time under a checkpoint; the output layer is the embedding"""

    def __init__(self, checkpoint):
        super().__init__()
        self.checkpoint, self.embed, self.block = checkpoint, nn.Embedding(VOCABULARY, WIDTH), torch_models.EncoderLayer(WIDTH, 8)

    def forward(self, tokens):
        x = self.block(self.embed(tokens))
        return F.linear(self.checkpoint(self.block, x), self.embed.weight)


def test_shared_and_checkpointed_modules_marked_twice_and_unmarked():
    make = functools.partial(Twice, of_torch_xla.checkpoint)     # torch 2.7's own checkpoint knows no XLA device
    model, optimizer = fresh(0, make)
    plan = planned(model, optimizer)
    for _ in range(2):
        plan.apply(model, optimizer)
    hooks = {len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()}
    assert hooks == {2}, f"applied twice, hooked once: {hooks}"
    losses, plain = train(model, optimizer, plan), train(*fresh(0, make))
    assert all(abs(a - b) < 1e-4 * abs(b) for a, b in zip(losses, plain, strict=True)), (losses, plain)
    again = planned(model, optimizer)
    assert "Sharding" not in again.step.text and again.step.text.count("\n") == plan.step.text.count("\n"), "a marked model is lowered without marks"
    model.eval()
    with torch.no_grad():
        other = model(torch.zeros(3, LENGTH // 2, dtype=torch.long, device=torch_xla.device())).cpu()
    plan.remove(model, optimizer)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    with torch.no_grad():
        alone = model(torch.zeros(3, LENGTH // 2, dtype=torch.long, device=torch_xla.device())).cpu()
    assert torch.allclose(other, alone, atol=1e-4), "another batch, in evaluation"


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
    sys.exit(support.run_all(test_a_planned_gpt_trains_as_the_plain_one, test_pins_by_name,
                             test_a_forward_pass_without_an_optimizer, test_the_block_of_the_page, test_errors_say_what_where_and_what_to_do,
                             test_shared_and_checkpointed_modules_marked_twice_and_unmarked, test_other_models_on_other_meshes,
                             test_norms_as_sums_are_norms))      # last: torch asks for the XLA device's backward pass to be first

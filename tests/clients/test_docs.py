#!/usr/bin/env python3
# label: truth
# timeout: 200
"""The Python of docs/clients.md and of README.md runs: a page's blocks one after the other, in one namespace. Those of torch_xla run in
test_torch.py."""
import pathlib
import re
import sys

import support

support.enter("truth")

import jax  # noqa: E402
import models  # noqa: E402


def blocks(page):
    found = re.findall(r"^```python\n(.*?)^```$", pathlib.Path(support.SOURCE, page).read_text(), re.S | re.M)
    return [block for block in found if not block.startswith("# torch_xla")]


def main():
    step, (params, _, x, y), _ = models.mlp()

    def train_step(params, batch):
        return step(params, 0.0, *batch)
    for page, least, scope in (("docs/clients.md", 3, {}),
                               ("README.md", 1, {"train_step": jax.jit(train_step), "params": params, "batch": (x, y)})):
        found = blocks(page)
        assert len(found) >= least, page
        for block in found:
            exec(compile(block, page, "exec"), scope)
        print(f"{page}: {len(found)} blocks run")
    return 0


if __name__ == "__main__":
    sys.exit(main())

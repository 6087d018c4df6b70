#!/usr/bin/env python3
# label: truth
# timeout: 300
"""The Python of README.md and of docs/ runs: a page's blocks one after the other, in one namespace; those that begin with `# flax` in a
process with the frameworks. Those of torch_xla run in test_torch.py, shell blocks in tests/service/test_docs_shell.py. Troubleshooting names
every exception of the package and no other."""
import inspect
import pathlib
import re
import subprocess
import sys

import support

support.enter("truth")

import jax  # noqa: E402
import models  # noqa: E402

import toast  # noqa: E402

PAGES = {"docs/clients.md": 3, "docs/quickstarts.md": 1, "docs/faq.md": 1, "README.md": 1}     # and how many blocks each has at least


def text_of(page):
    return pathlib.Path(support.SOURCE, page).read_text()


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", text_of(page), re.S | re.M)


def scope_of(page):
    """what README's lines take for granted: a step with its arguments"""
    if page != "README.md":
        return {}
    step, (params, _, x, y), _ = models.mlp()
    return {"train_step": jax.jit(lambda params, batch: step(params, 0.0, *batch)), "params": params, "batch": (x, y)}


def test_blocks_run():
    for page, least in PAGES.items():
        found = [block for block in blocks(page) if not block.startswith(("# torch_xla", "# flax"))]
        assert len(found) >= least, page
        scope = scope_of(page)
        for block in found:
            exec(compile(block, page, "exec"), scope)
        print(f"{page}: {len(found)} blocks run")


def test_blocks_of_flax_run():
    found = [block for page in PAGES for block in blocks(page) if block.startswith("# flax")]
    assert found
    for block in found:
        subprocess.run([support.python_of("models"), "-c", block], env=support.environment(), check=True)


def test_every_page_with_python_is_run():
    pages = {str(path.relative_to(support.SOURCE)) for path in pathlib.Path(support.SOURCE, "docs").glob("*.md")} | {"README.md"}
    assert {page for page in pages if blocks(page)} == set(PAGES)


def test_troubleshooting_has_every_exception():
    listed = set(re.findall(r"^\| `(\w+)` \|", text_of("docs/troubleshooting.md").split("## Python")[1], re.M))
    raised = {name for name, value in vars(toast.errors).items() if inspect.isclass(value) and issubclass(value, (toast.ToastError, UserWarning))}
    assert listed == raised, listed ^ raised


if __name__ == "__main__":
    sys.exit(support.run_all(test_every_page_with_python_is_run, test_troubleshooting_has_every_exception, test_blocks_run,
                             test_blocks_of_flax_run))

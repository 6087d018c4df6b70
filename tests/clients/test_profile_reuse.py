#!/usr/bin/env python3
# label: truth
# timeout: 600
"""One profile for several modules, its times made up (so nothing is compiled): another batch finds times where programs are equal, which those
of layers are not, and is refused by name; another vocabulary finds those of all layers; a pipeline stage, a sub-module of layers 3 to 7 with its
own inputs, finds those of all layers but its first; with what is missing added, one profile serves all of them; times that are known in parts
(computation, communication) compose to parts."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import support

support.enter("truth")

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "support"))
import generate_segments as models  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

TOAST = os.path.join(support.BIN, "toast")
SIZES = {"BATCH": 8, "TOKENS": 4, "WIDTH": 16, "HEADS": 4, "HIDDEN": 16, "VOCABULARY": 16}


def stage(layers):
    """the train step of a pipeline stage: activations in, activations and their gradient out, its own parameters updated"""
    def forward(p, x):
        for q in p:
            x = models.gpt(x, q)
        return x

    def train(p, m, v, count, x, dy):
        y, pull = jax.vjp(forward, p, x)
        grads, dx = pull(dy)
        count = count + 1
        tree = jax.tree_util.tree_map
        m = tree(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
        v = tree(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        return tree(lambda w, a, b: w - rate * a / (jnp.sqrt(b) + 1e-8), p, m, v), m, v, count, y, dx

    p = models.parameters("gpt", layers)["layers"]
    x = jax.ShapeDtypeStruct((models.BATCH, models.TOKENS, models.WIDTH), jnp.float32)
    jitted = jax.jit(train, donate_argnums=(0, 1, 2, 3), keep_unused=True)
    return jitted.lower(p, p, p, jax.ShapeDtypeStruct((), jnp.float32), x, x).as_text()


def gpt(layers, **other):
    for name, size in {**SIZES, **other}.items():
        setattr(models, name, size)
    text = models.lower("gpt", layers)
    for name, size in SIZES.items():
        setattr(models, name, size)
    return text


class Module:
    def __init__(self, where, name, text):
        self.path, self.folder = os.path.join(where, name + ".mlir"), os.path.join(where, name)
        pathlib.Path(self.path).write_text(text)
        status, said = self.plan("--planner", "propagate", "--outputs", "segments")
        assert status == 0, said
        with tarfile.open(os.path.join(self.folder, "segments.tar")) as tar:
            self.manifest = json.load(tar.extractfile("programs.json"))
        self.rows = {row["digest"]: row for row in self.manifest["programs"]}

    def plan(self, *more):
        done = subprocess.run([TOAST, "plan", self.path, "--mesh", "data=4", "--device", "a100-40", "--quiet", "-o", self.folder, *more],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def planned(self, profile):
        """what the report says of segments"""
        status, said = self.plan("--planner", "segments", "--outputs", "plan,report", "--profile", profile)
        assert status == 0, said
        found = json.loads(pathlib.Path(self.folder, "report.json").read_text())["segments"]
        assert found["measured"] == self.manifest["equation_7"] and found["proved"], found
        return found

    def refused(self, profile, words):
        status, said = self.plan("--planner", "segments", "--profile", profile)
        assert status and words in said, (words, status, said)

    def lacks(self, *others):
        """programs of this module that none of the others has, as the manifest counts them: equal texts stand once in a profile"""
        known = {digest for other in others for digest in other.rows}
        return [row for row in self.manifest["programs"] if row["digest"] not in known]


def profile(where, name, *modules, faster=None, share=None):
    """times of all programs of these modules, from their digests; those of `faster` run in a tenth; share: of each time that is computation"""
    segments = {}
    for module in modules:
        for digest, row in module.rows.items():
            us = (100 + int(digest[:4], 16) / 100) / (10 if module is faster else 1) / (10 if "pair" in row else 1)
            segments.setdefault(row["segment"], {})[digest] = us
    path = os.path.join(where, name + ".json")
    pathlib.Path(path).write_text(json.dumps({"devices": 4, "segments": [
        {"segment": segment, "configurations": [{"configuration": digest, "time_us": us, "peak_bytes": 1} |
                                                ({"computation_us": share * us} if share else {}) for digest, us in rows.items()]}
        for segment, rows in segments.items()]}))
    return path


def main():
    with tempfile.TemporaryDirectory() as where:
        whole = Module(where, "whole", gpt(8))
        count = whole.manifest["equation_7"]
        known = profile(where, "known", whole)
        before = whole.planned(known)

        parts = whole.planned(profile(where, "parts", whole, share=0.5))                # reshards between segments are communication
        assert before["computation_ps"] is None and parts | {"computation_ps": None} == before, (before, parts)
        assert 0.25 * before["composed_ps"] < parts["computation_ps"] < 0.5 * before["composed_ps"], parts
        whole.refused(profile(where, "wrong", whole, share=1.5), "cannot take longer than the program")

        batch = Module(where, "batch", gpt(8, BATCH=16))
        assert len(batch.lacks(whole)) == count == batch.manifest["equation_7"]
        batch.refused(known, f"none of the module's {count} programs is in the profile")
        both = profile(where, "both", whole, batch, faster=batch)
        assert whole.planned(both) == before
        assert batch.planned(both)["composed_ps"] < before["composed_ps"] / 2      # its own times, not those of the other batch

        words = Module(where, "words", gpt(8, VOCABULARY=32))
        new = words.lacks(whole)
        layers = {i for i, kind in enumerate(words.manifest["kinds"]) if kind["blocks"] == 4}
        assert new and not [row for row in new if row.get("kind") in layers], [row["name"] for row in new]
        words.refused(known, f"{len(new)} of the module's {count} programs have no time in the profile, the first is {new[0]['digest']}")
        words.planned(profile(where, "words", whole, words))

        part = Module(where, "part", stage(5))
        kinds = part.manifest["kinds"]
        assert [(kind["blocks"], kind["configurations"]) for kind in kinds] == [(4, 81), (4, 81)] and part.manifest["equation_7"] == 180
        new = part.lacks(whole)
        assert len(new) == 81 and {row.get("kind") for row in new} == {0}          # its first layer's norm belongs to no layer before it
        part.refused(known, f"81 of the module's 180 programs have no time in the profile, the first is {new[0]['digest']}")
        added = profile(where, "added", whole, part)
        part.planned(added)
        assert whole.planned(added) == before
    print(f"{count} programs of the module, 0 new ones of its stage's later layers, 81 of the stage's first")
    return 0


if __name__ == "__main__":
    sys.exit(main())

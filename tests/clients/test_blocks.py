#!/usr/bin/env python3
# label: truth
# timeout: 600
"""toast analyze --blocks on transformers of any depth, at other sizes than those of tests/models/segments: CFP's 180 programs of layers at 6, 24
and 96 layers alike, more where every third layer has experts; as text, as JSON, as a picture."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import support

support.enter("truth")

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "support"))
import generate_segments  # noqa: E402

TOAST = os.path.join(os.environ.get("TOAST_BIN", os.path.join(support.SOURCE, "build", "release", "bin")), "toast")
SIZES = {"BATCH": 8, "TOKENS": 16, "WIDTH": 48, "HEADS": 4, "HIDDEN": 80, "VOCABULARY": 200, "EXPERTS": 4}
SVG = "{http://www.w3.org/2000/svg}"


def analyze(path, *more):
    return subprocess.run([TOAST, "analyze", path, "--blocks", *more], capture_output=True, text=True)


def of_layers(found):
    """configurations of kinds of several blocks, and their pairs' reshards: without embedding and head"""
    size = {segment["kind"]: segment["blocks"] for segment in found["segments"]}
    first = {segment["kind"]: segment["first"] for segment in reversed(found["segments"])}
    kinds = [kind["configurations"] for i, kind in enumerate(found["kinds"]) if size[i] > 1]

    def strategies(kind, block):
        return len(found["blocks"][first[kind] + block]["strategies"])
    pairs = [strategies(pair["from_kind"], pair["from_block"]) * strategies(pair["to_kind"], pair["to_block"])
             for pair in found["pairs"] if size[pair["from_kind"]] > 1 and size[pair["to_kind"]] > 1]
    return sorted(kinds), sorted(pairs)


def check_picture(path, found, where):
    picture = os.path.join(where, "blocks.svg")
    done = analyze(path, "--mesh", "data=4,model=4", "--svg", picture)
    assert done.returncode == 0, done.stderr
    drawn = xml.parse(picture).getroot()
    boxes = [rect.get("class") for rect in drawn.iter(SVG + "rect")]
    assert boxes.count("block") == len(found["blocks"]) and boxes.count("segment") == len(found["segments"]), boxes
    words = [text.text for text in drawn.iter(SVG + "text")]
    for block in found["blocks"]:
        assert block["entry"] in words, (block, words[:20])
    assert len(list(drawn.iter(SVG + "path"))) >= len(found["blocks"]) - 1        # every block depends on one before it


def check(model, layers, where):
    path = os.path.join(where, f"{model}_{layers}.mlir")
    pathlib.Path(path).write_text(generate_segments.lower(model, layers))
    found = json.loads(analyze(path, "--json", "--mesh", "data=4").stdout)
    assert len(found["blocks"]) == 4 * layers + 2 and len(found["segments"]) == layers + 2, (model, layers)
    kinds, pairs = of_layers(found)
    if model != "moe":
        assert kinds == [81, 81] and pairs == [9, 9] and sum(kinds + pairs) == 180, (model, layers, kinds, pairs)
    else:
        assert kinds == [81, 81, 144], (model, layers, kinds)
    if layers == 6:
        check_picture(path, found, where)
        # an axis of one device splits nothing: the last of several counts
        assert json.loads(analyze(path, "--json", "--mesh", "data=4,model=1").stdout)["blocks"] == found["blocks"]
    return sum(kinds + pairs)


def main():
    for name, size in SIZES.items():
        setattr(generate_segments, name, size)
    with tempfile.TemporaryDirectory() as where:
        programs = {(model, layers): check(model, layers, where)
                    for model, depths in {"bert": (6, 24, 96), "gpt": (6, 24, 96), "llama": (6, 24, 96), "moe": (6, 24)}.items() for layers in depths}
        assert programs["moe", 6] == programs["moe", 24]
        refused = analyze(os.path.join(where, "gpt_6.mlir"), "--svg")
        assert refused.returncode == 2 and "needs a value" in refused.stderr, refused.stderr
        refused = subprocess.run([TOAST, "analyze", os.path.join(where, "gpt_6.mlir"), "--svg", "x.svg"], capture_output=True, text=True)
        assert refused.returncode == 2 and "--blocks" in refused.stderr, refused.stderr
    print(programs)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# label: truth
# timeout: 900
"""Every script of examples/ trains on eight CPU devices under its plan to the losses that it has on one device."""
import pathlib
import re
import subprocess
import sys

import support

STEPS = 20
TOLERANCE = 0.02      # of the loss, printed with four decimals


def losses(python, script, *more):
    done = subprocess.run([python, str(script), "--steps", str(STEPS), *more], env=support.environment(), capture_output=True,
                          text=True)
    assert done.returncode == 0, f"{script.name} {' '.join(more)}:\n{done.stdout}{done.stderr}"
    found = [float(value) for value in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert len(found) == STEPS // 10, done.stdout
    return found, re.findall(r"<toast.Plan .*>", done.stdout)


def main():
    python = support.python_of("models")
    scripts = sorted(pathlib.Path(support.SOURCE, "examples").glob("*.py"))
    assert len(scripts) >= 5
    for script in scripts:
        if sys.argv[1:] and script.stem not in sys.argv[1:]:
            continue
        one, _ = losses(python, script, "--one-device")
        eight, plan = losses(python, script)
        print(f"{script.name}: one device {one}, planned {eight}; {plan[0]}", flush=True)
        assert one[-1] < one[0], "it learns"
        for a, b in zip(one, eight, strict=True):
            assert abs(a - b) <= TOLERANCE * abs(a) + 1e-3, (script.name, one, eight)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# label: soak
# timeout: 420
"""Small jobs under kill -9 of everything: none lost, none stuck, none ended twice, every byte as without faults.

TOAST_SEED repeats a schedule, TOAST_JOBS makes it longer; bench/faults.py is the long run."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos
import harness


def test_kills():
    seed = int(os.environ.get("TOAST_SEED", "1"))
    figures = chaos.run(int(os.environ.get("TOAST_JOBS", "300")), seed, workers=2, distinct=40, window=32, least_kills=20,
                        say=lambda text: print(text, flush=True))
    print(figures, flush=True)
    assert not any(figures["bad"].values()), figures
    assert sum(figures["kills"].values()) >= 20, figures


if __name__ == "__main__":
    harness.main([test_kills])

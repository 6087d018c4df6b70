#!/usr/bin/env python3
# label: soak
# timeout: 240
"""Small jobs and prices while processes of every kind are killed and stopped: none lost, none stuck, none ended twice, no reason
that is not true, every byte as without faults.

TOAST_SEED repeats a schedule, TOAST_JOBS and TOAST_STRIKES (of each kind, kills and stops) make it longer; bench/faults.py is the
long run."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos
import harness


def test_kills():
    seed, jobs, strikes = (int(os.environ.get(name, otherwise)) for name, otherwise in
                           (("TOAST_SEED", "1"), ("TOAST_JOBS", "60"), ("TOAST_STRIKES", "2")))
    figures = chaos.run(jobs, seed, workers=2, distinct=20, least=strikes, say=lambda text: print(text, flush=True))
    print(figures, flush=True)
    assert not any(figures["bad"].values()), figures
    assert min(figures["strikes"].values()) >= strikes, figures


if __name__ == "__main__":
    harness.main([test_kills])

#!/usr/bin/env python3
# label: truth
# timeout: 900
# processors: 2
"""Models that nothing was tuned on when they were written, frameworks: a linen convnet, scanned linen blocks, nnx and equinox attention, a haiku mixer.

checks.check_unseen says what is asked of each. Arguments: words of their names. Without them each has a process of its own: where XLA's threads of
eight CPU devices wait for each other in two collectives until XLA ends the process (seen of the scanned blocks), that model is passed over.
"""
import subprocess
import sys

import support

support.enter("models")

import checks  # noqa: E402
import unseen_frameworks  # noqa: E402


def alone(name):
    """0: it holds, or XLA hung"""
    done = subprocess.run([sys.executable, __file__, name], stderr=subprocess.PIPE, text=True, errors="replace")
    hung = done.returncode == -6 and "rendezvous" in done.stderr
    print(f"{name}: XLA hung, not checked" if hung else done.stderr[-3000:] if done.returncode else "", flush=True)
    return 0 if hung else done.returncode


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(checks.check_all_unseen(unseen_frameworks.UNSEEN))
    sys.exit(max(abs(alone(name)) for name in unseen_frameworks.UNSEEN))

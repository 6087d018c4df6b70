#!/usr/bin/env python3
# label: truth
# timeout: 900
# processors: 2
"""Models that nothing was tuned on when they were written, frameworks: a linen convnet, scanned linen blocks, nnx and equinox attention, a haiku mixer.

checks.check_unseen says what is asked of each. Arguments: words of their names.
"""
import sys

import support

support.enter("models")

import checks  # noqa: E402
import unseen_frameworks  # noqa: E402

if __name__ == "__main__":
    sys.exit(checks.check_all_unseen(unseen_frameworks.UNSEEN))

#!/usr/bin/env python3
# label: truth
# timeout: 900
"""Models that nothing was tuned on when they were written, the same models as test_unseen.py's on JAX 0.4.38, which partitions by GSPMD.

checks.check_unseen says what is asked of each. Arguments: words of their names.
"""
import sys

import support

support.enter("oldest")

import checks  # noqa: E402
import unseen  # noqa: E402

# With 0.4 of the memory the plan has experts' hidden features on both axes in one product and on one in the next; 0.4.38's partitioner gathers in
# between (8 times the plan's bytes, docs/clients.md), newer ones do not.
EXPERTS = "experts with a capacity"
# Of encoder and decoder it moves 1.10 of the plan's bytes annotated, and as much more with the list.
BOTH = "encoder and decoder"
OLDEST = unseen.UNSEEN | {EXPERTS: (*unseen.UNSEEN[EXPERTS][:2], 0.5), BOTH: (*unseen.UNSEEN[BOTH][:4], 1.16)}

if __name__ == "__main__":
    sys.exit(checks.check_all_unseen(OLDEST))

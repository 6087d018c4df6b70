#!/usr/bin/env python3
# label: truth
# timeout: 900
"""Models that nothing was tuned on when they were written, plain JAX: experts with a capacity, grouped heads on three axes, a tied odd vocabulary, encoder and decoder, a recurrent network, convolutions by channel.

checks.check_unseen says what is asked of each. Arguments: words of their names.
"""
import sys

import support

support.enter("truth")

import checks  # noqa: E402
import unseen  # noqa: E402

if __name__ == "__main__":
    sys.exit(checks.check_all_unseen(unseen.UNSEEN))

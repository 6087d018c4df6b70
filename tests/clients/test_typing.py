#!/usr/bin/env python3
# label: truth
# timeout: 200
"""mypy --strict has nothing to say of the package."""
import os
import subprocess
import sys
import tempfile

import support

PACKAGE = os.path.join(support.SOURCE, "clients", "python")
with tempfile.TemporaryDirectory() as cache:
    sys.exit(subprocess.run([support.python_of("models"), "-m", "mypy", "--cache-dir", cache, "--config-file", "pyproject.toml", "src/toast", "src/toast_profile"],
                            cwd=PACKAGE).returncode)

#!/usr/bin/env python3
# label: unit
# timeout: 60
"""ARCHITECTURE.md: every folder with code has a row, every row a folder, and the list of files is what scripts/architecture writes."""
import pathlib, subprocess, sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.exit(subprocess.run([root / 'scripts/architecture', '--check'], cwd=root).returncode)

#!/usr/bin/env python3
# label: unit
# timeout: 60
"""An error planted into any collective of a step's local module is found by toast prove: its result doubled, an all_reduce left out.

Arguments: modules in place of Adafactor's step of one layer (a key's bias under a softmax is read by nothing that it changes) and of a step that
scales its loss and keeps its parameters where a sum of gradients is not finite, alone and as the body of a scan."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOAST = os.path.join(os.environ.get('TOAST_BIN', 'build/release/bin'), 'toast')
STEPS = pathlib.Path(os.environ.get('TOAST_SOURCE', '.')) / 'tests/verify/steps'
PLAN = ['--mesh', 'a=4,b=2', '--baseline', 'fsdp:a+fsdp:b']
START = re.compile(r'\s*(%\w+)(:\d+)? = "?stablehlo\.(all_reduce|reduce_scatter|all_gather|all_to_all)"?\(([^)]*)\)')


def collectives(lines):
    """(last line, op, the value, its type, what it is made of) of every float that a collective gives"""
    for first, line in enumerate(lines):
        start = START.match(line)
        if not start:
            continue
        last = next(k for k in range(first, len(lines)) if re.search(r': \(.*\) -> ', lines[k]))
        types = re.findall(r'tensor<[^>]*>', lines[last].split('->')[-1])
        operands = [text.strip() for text in start[4].split(',')]
        for k, (kind, operand) in enumerate(zip(types, operands)):
            if re.search(r'f\d+>', kind):
                yield last, start[3], start[1] + (f'#{k}' if start[2] else ''), kind, operand


def planted(text):
    lines = text.split('\n')
    for last, op, value, kind, operand in collectives(lines):
        reads = re.compile(re.escape(value) + r'(?![\w#])')
        for what, wrong in (('doubled', '%planted'), ('left out', operand)):
            if what == 'left out' and op != 'all_reduce':
                continue
            after = [reads.sub(wrong, line) for line in lines[last + 1:]]
            made = [f'    %planted = stablehlo.add {value}, {value} : {kind}'] if what == 'doubled' else []
            yield f'{op} {kind} at line {last + 1}, {what}', '\n'.join(lines[:last + 1] + made + after)


def check(module):
    found = total = 0
    lowered = subprocess.run([TOAST, 'lower', module, *PLAN, '--form', 'local'], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as scratch:
        file = f'{scratch}/planted.mlir'
        for what, text in planted(lowered):
            pathlib.Path(file).write_text(text)
            run = subprocess.run([TOAST, 'prove', module, *PLAN, '--lowered', file], capture_output=True, text=True)
            total += 1
            found += run.returncode == 1 and 'different' in run.stdout
            if run.returncode != 1:
                print(f'FAILED {what}: {run.stdout}{run.stderr}')
    print(f'{pathlib.Path(module).name}: {found} of {total} found')
    return found == total > 0


sys.exit(not all([check(module) for module in sys.argv[1:] or [str(STEPS / name) for name in ('adafactor.mlir', 'scaled.mlir', 'scanned.mlir')]]))

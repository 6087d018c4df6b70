#!/usr/bin/env python3
# label: unit
# timeout: 300
"""Includes go only downward; each external library has one owning folder; every header compiles alone; nothing in the
repository names a machine's paths; no file is longer than 800 lines."""
import pathlib, re, subprocess, sys, tempfile

root = pathlib.Path(__file__).resolve().parents[2]
below = {
    'base': '', 'ir': 'base', 'analysis': 'ir', 'spmd': 'analysis', 'cost': 'spmd', 'verify': 'spmd', 'mcts': 'cost',
    'cfn': 'base', 'report': 'mcts verify', 'planner': 'report', 'api': 'planner cfn', 'queue': 'base', 'http': 'base', 'store': 'http',
    'workers': 'api cfn queue store http', 'server': 'api queue store', 'cli': 'api http cfn server workers queue store',
}
owner = {'jansson.h': 'api cli',  # cli: the client's replies
         'microhttpd.h': 'server', 'curl/curl.h': 'http', 'hiredis/hiredis.h': 'queue',
         'zlib.h': 'base', 'openssl/': 'base', 'mlir-c/': 'ir', 'seccomp.h': 'ir'}


def reachable(layer, seen=None):
    seen = {layer} if seen is None else seen
    for lower in below[layer].split():
        if lower not in seen:
            seen.add(lower)
            reachable(lower, seen)
    return seen


problems = []
for layer in below:
    allowed = reachable(layer)
    for path in sorted((root / layer).rglob('*.[ch]')):
        lines = path.read_text().split('\n')
        if len(lines) > 801:
            problems.append(f'{path.relative_to(root)}: {len(lines) - 1} lines; split it (800 at most)')
        for number, line in enumerate(lines, 1):
            found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if not found:
                continue
            name = found.group(1)
            folder = name.split('/')[0]
            if folder in below and folder not in allowed:
                problems.append(f'{path.relative_to(root)}:{number}: {layer}/ must not include {name}')
            for library, folder in owner.items():
                if name.startswith(library) and layer not in folder.split():
                    problems.append(f'{path.relative_to(root)}:{number}: only {folder}/ may include {name}')

tracked = subprocess.run(['git', 'ls-files'], cwd=root, capture_output=True, text=True).stdout.split('\n')
machine = re.compile('/' + r'(work|farm|root)/')
for name in filter(None, tracked):
    path = root / name
    if not path.is_file() or path.suffix in ('.gz', '.png', '.bin') or name.startswith('tests/models/'):
        continue
    for number, line in enumerate(path.read_text(errors='replace').split('\n'), 1):
        if machine.search(line):
            problems.append(f'{name}:{number}: a path of one machine')

headers = [p for layer in below for p in sorted((root / layer).rglob('*.h'))]
with tempfile.TemporaryDirectory() as scratch:
    for header in headers:
        source = pathlib.Path(scratch) / 'alone.c'
        source.write_text(f'#include "{header.relative_to(root)}"\n')
        flags = subprocess.run(['pkg-config', '--cflags', 'jansson', 'libmicrohttpd', 'libcurl', 'hiredis'],
                               capture_output=True, text=True).stdout.split()
        made = subprocess.run(['cc', '-std=gnu17', '-D_GNU_SOURCE', '-fsyntax-only', '-Wall', '-Wextra', '-Werror',
                               '-I', str(root), '-isystem', '/usr/lib/llvm-19/include', *flags, str(source)],
                              capture_output=True, text=True)
        if made.returncode:
            problems.append(f'{header.relative_to(root)} does not compile alone:\n{made.stderr[:400]}')

print('\n'.join(problems) if problems else f'{len(headers)} headers, {len(below)} layers: in order')
sys.exit(1 if problems else 0)

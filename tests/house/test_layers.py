#!/usr/bin/env python3
# label: unit
# timeout: 300
"""Includes go only downward; each external library has one owning folder; every header compiles alone; nothing in the
repository names a machine's paths; no file is longer than 800 lines."""
import pathlib, re, subprocess, sys, tempfile

root = pathlib.Path(__file__).resolve().parents[2]


def read_table():
    """cmake/layers.txt -> folder: layers that it names, folder: externals that it names, external: header prefix"""
    below, uses, headers = {}, {}, {}
    for line in (root / 'cmake/layers.txt').read_text().split('\n'):
        kind, _, rest = line.partition(' ')
        if kind == 'external':
            name = rest.split(' ', 1)[0]
            headers[name] = rest.rsplit(':', 1)[1].strip()
        elif kind in ('layer', 'program'):
            fields = [field.strip() for field in rest.split(':')]
            folder = fields[0] if kind == 'layer' else fields[1]
            named = fields[-2].split()
            for lower in named:
                if lower not in below:
                    sys.exit(f'cmake/layers.txt: {folder} names {lower}, which is not above it')
            below[folder], uses[folder] = named, fields[-1].split()
    return below, uses, headers


below, uses, external_headers = read_table()


def reachable(layer):
    seen = {layer}
    for lower in below[layer]:
        seen |= reachable(lower)
    return seen


def layer_of(name):
    """the layer that a file belongs to: its folder or, where that is no layer (main/), the nearest above it"""
    folder = pathlib.PurePosixPath(name).parent
    while str(folder) != '.' and str(folder) not in below:
        folder = folder.parent
    return str(folder) if str(folder) in below else None


problems = []
sources = sorted(p for layer in {name.split('/')[0] for name in below} for p in (root / layer).rglob('*.[ch]'))
for path in sources:
    name = str(path.relative_to(root))
    layer = layer_of(name)
    if layer is None:
        problems.append(f'{name}: its folder is in no layer of cmake/layers.txt')
        continue
    allowed = reachable(layer)
    lines = path.read_text().split('\n')
    if len(lines) > 801:
        problems.append(f'{name}: {len(lines) - 1} lines; split it (800 at most)')
    for number, line in enumerate(lines, 1):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if not found:
            continue
        included = found.group(1)
        lower = layer_of(included)
        if lower and lower not in allowed:
            problems.append(f'{name}:{number}: {layer}/ must not include {included}')
        for external, prefix in external_headers.items():
            if prefix and included.startswith(prefix) and external not in uses[layer]:
                problems.append(f'{name}:{number}: {layer}/ must not include {included}: it does not name {external}')

tracked = subprocess.run(['git', 'ls-files'], cwd=root, capture_output=True, text=True).stdout.split('\n')
machine = re.compile('/' + r'(work|farm|root)/')
for name in filter(None, tracked):
    path = root / name
    if not path.is_file() or path.suffix in ('.gz', '.png', '.bin') or name.startswith('tests/models/'):
        continue
    for number, line in enumerate(path.read_text(errors='replace').split('\n'), 1):
        if machine.search(line):
            problems.append(f'{name}:{number}: a path of one machine')

headers = [p for p in sources if p.suffix == '.h']
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

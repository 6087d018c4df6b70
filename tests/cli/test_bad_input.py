#!/usr/bin/env python3
# label: unit
# timeout: 300
"""Every bad input of the command line gets a clear error that says what and where, the right exit status, and leaves no files."""
import gzip, os, pathlib, subprocess, sys, tempfile, time

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
source = pathlib.Path(os.environ['TOAST_SOURCE'])
mlp = (source / 'tests/models/mlp.mlir').read_text()
MESH = ['--mesh', 'data=4,model=2', '--device', 'a100-40']

# name, module text (None: mlp), arguments, exit status, words of the message
CASES = [
    ('empty file', '', MESH, 6, ['module']),
    ('only blanks', ' \n\n', MESH, 6, []),
    ('truncated text', mlp[:len(mlp) // 2], MESH, 6, [':']),
    ('binary', bytes(range(256)) * 40, MESH, 6, [':1:']),
    ('NUL inside', mlp.replace('dot_general', 'dot\0general', 1), MESH, 6, [':3:']),
    ('not StableHLO', 'int main(void) { return 0; }\n', MESH, 6, [':1:']),
    ('dynamic dimension', mlp.replace('256x32', '?x32'), MESH, 6, ['dynamic', ':']),
    ('quantized type', 'func.func public @main(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>> {\n'
     '  return %a : tensor<4x!quant.uniform<i8:f32, 0.5>>\n}\n', MESH, 6, ['quantized']),
    ('undefined value', mlp.replace('call @relu(%0)', 'call @relu(%9)'), MESH, 6, [':4:']),
    ('value defined twice', mlp.replace('%2 = stablehlo', '%0 = stablehlo'), MESH, 6, [':5:']),
    ('unknown callee', mlp.replace('call @relu', 'call @gelu'), MESH, 6, ['gelu', ':4:']),
    ('wrong shape', mlp.replace('-> tensor<256x64xf32>\n    %1', '-> tensor<256x65xf32>\n    %1'), MESH, 6, [':']),
    ('no main', mlp.replace('public @main', 'private @step'), MESH, 6, ['@main']),
    ('unterminated string', mlp.replace('"result"', '"result'), MESH, 6, [':2:']),
    ('10 MB identifier', mlp.replace('%arg0', '%' + 'a' * 10_000_000, 1), MESH, 6, []),
    ('nesting of 100,000', 'func.func @main() {\n' + '"a.b"() ({\n' * 100_000, MESH, 6, ['nest']),
    ('brackets of 100,000', 'module attributes {a = ' + '[' * 100_000 + '} {}', MESH, 6, ['nest']),
    ('dimension of 2^63', mlp.replace('256x32', '9223372036854775808x32'), MESH, 6, [':']),
    ('product of sizes overflows', mlp.replace('256x32', '4611686018427387904x32'), MESH, 6, []),
    ('file that is not there', Ellipsis, MESH, 2, ['No such file', 'missing.mlir']),
    ('truncated gzip', gzip.compress(mlp.encode())[:-40], MESH, 6, ['module.mlir: gzip']),
    ('gzip of two bytes', b'\x1f\x8b', MESH, 6, ['module.mlir: gzip']),
    ('request that is not there', None, MESH + ['--request', '/nonexistent/r.json'], 2, ['/nonexistent/r.json', 'No such file']),
    ('request that is a folder', None, MESH + ['--request', '/tmp'], 2, ['/tmp', 'folder']),
    ('mesh with a zero axis', None, ['--mesh', 'data=0', '--device', 'a100-40'], 2, ['data']),
    ('mesh with an axis twice', None, ['--mesh', 'data=2,data=4', '--device', 'a100-40'], 2, ['data']),
    ('mesh over 2^20 devices', None, ['--mesh', 'data=1024,model=2048', '--device', 'a100-40'], 2, ['1048576']),
    ('mesh that is no mesh', None, ['--mesh', 'big', '--device', 'a100-40'], 2, []),
    ('no mesh', None, ['--device', 'a100-40'], 2, ['toast plan: --mesh is missing', '--mesh data=4']),
    ('no device', None, ['--mesh', 'data=4'], 2, ['toast plan: --device is missing', '--device a100-40']),
    ('unknown device', None, ['--mesh', 'data=4', '--device', 'abacus'], 2, ['a100-40', 'h100']),
    ('memory below the inputs', None, MESH + ['--memory-limit', '1000'], 2, ['1000']),
    ('negative memory', None, MESH + ['--memory-limit', '-4'], 2, ['--memory-limit', '40GB', '-4']),
    ('memory without a unit that is one', None, MESH + ['--memory-limit', '40G'], 2, ['37.5GiB', '40G']),
    ('pin on an unknown argument', None, MESH + ['--pin', 'weights/*=data,-'], 2, ['arg']),
    ('pin of another rank', None, MESH + ['--pin', 'arg0=data'], 2, ['arg0', '2']),
    ('pin on an unknown axis', None, MESH + ['--pin', 'arg0=pipeline,-'], 2, ['axis']),
    ('pin that does not divide', mlp.replace('256', '254'), MESH + ['--pin', 'arg0=data,-'], 2, ['254']),
    ('pin with an axis twice', None, MESH + ['--pin', 'arg0=data,data'], 2, ['arg0', 'twice']),
    ('unknown planner', None, MESH + ['--planner', 'oracle'], 2, ['mcts']),
    ('unknown output', None, MESH + ['--outputs', 'picture'], 2, ['report']),
    ('unknown option', None, MESH + ['--fast'], 2, ['--fast', '--help']),
    ('threads that are no number', None, MESH + ['--threads', '2x'], 2, ['--threads']),
    ('option that swallows the next', None, ['--mesh'], 2, ['--help']),
]

failures = 0
with tempfile.TemporaryDirectory() as scratch:
    for name, module, arguments, status, words in CASES:
        path = os.path.join(scratch, 'module.mlir')
        out = os.path.join(scratch, 'out')
        if module is Ellipsis:
            path = os.path.join(scratch, 'missing.mlir')
        else:
            data = mlp if module is None else module
            open(path, 'wb').write(data if isinstance(data, bytes) else data.encode())
        start = time.monotonic()
        try:
            run = subprocess.run([toast, 'plan', path, *arguments, '-o', out, '--quiet'], capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            print(f'FAILED {name}: still running after 60 s')
            failures += 1
            continue
        seconds = time.monotonic() - start
        message = run.stderr.decode(errors='replace')
        wrong = []
        if run.returncode != status:
            wrong.append(f'exit status {run.returncode}, not {status}')
        if not message.strip() or len(message) > 3000:
            wrong.append(f'a message of {len(message)} characters')
        wrong += [f'"{w}" is not in the message' for w in words if w not in message]
        if os.path.exists(out):
            wrong.append('files were written')
        if seconds > 30:
            wrong.append(f'took {seconds:.0f} s')
        print(f'{"FAILED" if wrong else "ok    "} {name}: {message.strip()[:160]}{" <- " + "; ".join(wrong) if wrong else ""}')
        failures += bool(wrong)
    # the other commands say the same of a module, with the same status
    path = os.path.join(scratch, 'module.mlir')
    for status, word, data in [(6, ':4:', mlp.replace('call @relu(%0)', 'call @relu(%9)').encode()), (6, ': gzip', gzip.compress(mlp.encode())[:-40]),
                               (2, 'No such file', None)]:
        os.unlink(path)
        if data:
            open(path, 'wb').write(data)
        for command in (['analyze'], ['read', '-o', scratch], ['price', *MESH], ['interpret'], ['lower', '--mesh', 'data=2', '--form', 'local'],
                        ['prove', '--mesh', 'data=2', '--random-plan', '1']):
            run = subprocess.run([toast, command[0], path, *command[1:]], capture_output=True, text=True)
            if run.returncode != status or path + word not in run.stderr and f'{path}: {word}' not in run.stderr:
                print(f'FAILED toast {command[0]} ends with {run.returncode}, not {status}: {run.stderr[:160]}')
                failures += 1
    # a client says so before it asks for its service
    for command in (['submit', path, *MESH], ['submit', scratch, *MESH], ['diff', path, path]):
        run = subprocess.run([toast, *command], capture_output=True, text=True, env=dict(os.environ, TOAST_URL='http://127.0.0.1:1'))
        if run.returncode != 2 or command[1] not in run.stderr:
            print(f'FAILED toast {command} ends with {run.returncode}, not 2: {run.stderr[:160]}')
            failures += 1
    # a folder in which nothing can be written is said before the search, not after it
    open(path, 'w').write(mlp)
    for folder, word in (('/dev/full', 'Not a directory'), ('/proc/plan', 'No such file'), (path, 'Not a directory')):
        run = subprocess.run([toast, 'plan', path, *MESH, '--rollouts', '300', '-o', folder], capture_output=True, text=True)
        if run.returncode == 0 or folder not in run.stderr or word not in run.stderr or 'rollouts' in run.stderr:
            print(f'FAILED toast plan -o {folder} ends with {run.returncode} after a search: {run.stderr[:300]}')
            failures += 1
    # the next job is unaffected
    path = os.path.join(scratch, 'module.mlir')
    open(path, 'w').write(mlp)
    run = subprocess.run([toast, 'plan', path, *MESH, '-o', os.path.join(scratch, 'good'), '--quiet'], capture_output=True)
    if run.returncode != 0:
        print('FAILED the next job:', run.stderr.decode()[:300])
        failures += 1
print(f'{len(CASES)} cases, {failures} failures')
sys.exit(1 if failures else 0)

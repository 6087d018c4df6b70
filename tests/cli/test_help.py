#!/usr/bin/env python3
# label: unit
# timeout: 60
"""toast COMMAND --help: a usage line, an example, every option that the command takes and no other."""
import os, pathlib, re, subprocess, sys

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
source = pathlib.Path(os.environ['TOAST_SOURCE'])
# nothing is there: no option that is tried may reach a service
nowhere = dict(os.environ, TOAST_REDIS='unix:/nonexistent', TOAST_URL='http://127.0.0.1:1', TOAST_STORE='dir:/nonexistent')
option = re.compile(r'(?<![\w-])--[a-z][a-z-]*')
# whose options a command takes beside those in its own file
shared = {'plan': ['api/flags.h', 'api/flags.c'], 'submit': ['api/flags.h', 'api/flags.c', 'cli/client.c'], 'price': ['cli/choose.c'],
          'lower': ['cli/choose.c'], 'prove': ['cli/choose.c']}
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED', what)


def run(*arguments):
    return subprocess.run([toast, *arguments], capture_output=True, text=True, env=nowhere, timeout=20, stdin=subprocess.DEVNULL)


def taken(command, name):
    """a value is given, and something behind it that no command takes: what is complained of is that, or the value of a flag"""
    value = '/dev/null' if name in ('--request', '--expect') else '1'   # these are read at once
    tried = run(command, name, value, '--no-such')
    words = tried.stderr + tried.stdout
    check(tried.returncode == 2, f'toast {command} {name} {value} --no-such ends with 2, not {tried.returncode}')
    return f"unknown option or missing value: '{name}'" not in words and f'no option {name};' not in words and \
        f"unknown option '{name}'" not in words and f"unrecognized option '{name}'" not in words


commands = re.findall(r'^CLI_COMMAND\((\w+),', (source / 'cli' / 'commands.def').read_text(), re.M)
check(len(commands) > 15, commands)
overview = run('--help')
check(overview.returncode == 0 and all(f' {c} ' in overview.stdout for c in commands), 'toast --help lists every command')
for command in commands:
    shown = run(command, '--help')
    text = shown.stdout
    check(shown.returncode == 0 and not shown.stderr, f'toast {command} --help ends with 0 and says nothing on stderr')
    check(text.startswith(f'usage: toast {command}'), f'toast {command} --help begins with the usage')
    example = re.search(r'^examples?:\n((?:  .*\n)+)', text, re.M)
    check(example and f'toast {command}' in example[1], f'toast {command} --help has an example')
    check(max(map(len, text.split('\n'))) <= 140, f'toast {command} --help fits a terminal')
    written = set(option.findall(text)) - {'--help'}
    for name in written - set(option.findall(example[1] if example else '')):
        check(taken(command, name), f'toast {command} takes {name}, which its help names')
    files = [f'cli/cmd_{command}.c', *shared.get(command, [])]
    code = ''.join((source / f).read_text() for f in files)
    for name in set(re.findall(r'(?:strcmp\(\w+(?:\[\w+\])?, |\{|"|, )"?(--[a-z][a-z-]*)"', code)):
        if name not in written and name != '--help':
            check(not taken(command, name), f'toast {command} takes {name}, which its help does not name')
    check(not taken(command, '--no-such-thing'), f'toast {command} refuses what it does not know')

# decisions that a help shows are decisions of a transformer
for command, more in ('price', ['--device', 'a100-40']), ('lower', ['--form', 'local', '-o', '/dev/null']), ('prove', []):
    listed = re.search(r'--decisions LIST +e\.g\. "([^"]+)"', run(command, '--help').stdout)
    check(listed, f'toast {command} --help shows decisions')
    tried = run(command, str(source / 'tests/models/small/t2b.mlir'), '--mesh', 'data=4,model=2', '--decisions', listed[1], *more)
    check(tried.returncode == 0, f'toast {command} --decisions {listed[1]}: {tried.stderr}')

sys.exit(bool(failures))

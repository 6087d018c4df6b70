#!/usr/bin/env python3
# label: unit
# timeout: 240
"""docs/adding.md, walked once: the patch of tests/house/adding adds an op to a copy of the sources. The copy's reader and
analysis are built with this build's own flags (unoptimised: seconds) and must read the op's pretty form and shard its
dimensions; without the patch the op is refused. The patch touches nothing that the document does not list."""
import concurrent.futures, json, os, pathlib, re, shlex, shutil, subprocess, sys, tempfile

root = pathlib.Path(__file__).resolve().parents[2]
build = pathlib.Path(os.environ.get('TOAST_BIN', root / 'build/release/bin')).parent
here = root / 'tests/house/adding'
patch = (here / 'op.patch').read_text()
FOLDERS = ('base', 'ir', 'ir/reader', 'analysis')


def listed():
    """the files that the document names for an op"""
    page = (root / 'docs/adding.md').read_text()
    return set(re.findall(r'`([\w/.-]+)`', re.search(r'^## An op\n(.*?)(?=^## )', page, re.S | re.M).group(1)))


def commands():
    """source -> compiler and flags of this build"""
    out = {}
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        source = pathlib.Path(entry['file'])
        if source.is_relative_to(root) and str(source.relative_to(root).parent) in FOLDERS:
            words = shlex.split(entry['command'])
            out.setdefault(str(source.relative_to(root)), words[:words.index('-o')])
    return out


def link_words():
    """the reader's libraries, from this build's own command"""
    lines = subprocess.run(['ninja', '-C', build, '-t', 'commands', 'bin/toast-read'], capture_output=True, text=True,
                           check=True).stdout.strip().split('\n')
    words = lines[-1].split(' -o bin/toast-read ')[1].split(' && ')[0].split()
    return [word for word in words if not re.search(r'libtoast_\w+\.a$', word)]


def compile_one(copy, source, words):
    target = copy / 'objects' / (source.replace('/', '_') + '.o')
    words = [word.replace(str(root), str(copy)) if word.startswith('-I') else word for word in words]
    run = subprocess.run([*words, '-O0', '-g0', '-o', target, '-c', copy / source], capture_output=True, text=True, cwd=build)
    return target if run.returncode == 0 else sys.exit(f'{source} does not compile:\n{run.stderr[:3000]}')


def build_copy(copy):
    (copy / 'objects').mkdir()
    flags, objects = commands(), {}
    shutil.copy(here / 'show.c', copy / 'analysis/show.c')
    flags['analysis/show.c'] = flags['analysis/nda.c']
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting = {source: pool.submit(compile_one, copy, source, words) for source, words in flags.items()}
        objects = {source: job.result() for source, job in waiting.items()}
    libraries = link_words()
    parts = {'toast-read': ('base/', 'ir/'), 'show': ('base/', 'ir/', 'analysis/')}
    for program, folders in parts.items():
        mine = [o for source, o in objects.items() if source.startswith(folders) and (program == 'toast-read' or '/reader/' not in source)]
        compiler = flags['analysis/nda.c'][:1] + [word for word in flags['analysis/nda.c'] if word.startswith('-fsanitize')]
        subprocess.run([*compiler, '-o', copy / program, *mine, *(libraries if program == 'toast-read' else
                       ['-lcrypto', '-lz', '-lseccomp', '-lpthread'])], check=True, cwd=build)


def main():
    touched = set(re.findall(r'^\+\+\+ b/(.+)$', patch, re.M))
    unlisted = touched - listed()
    if unlisted:
        sys.exit(f'docs/adding.md does not list {sorted(unlisted)} for an op')
    before = subprocess.run([build / 'bin/toast', 'analyze', here / 'wobble.mlir'], capture_output=True, text=True)
    if before.returncode == 0:
        sys.exit('the op is read without the patch: it shows nothing')
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for name in FOLDERS:
            (copy / name).mkdir(exist_ok=True)
            for source in (root / name).iterdir():
                if source.is_file():
                    shutil.copy(source, copy / name)
        subprocess.run(['patch', '-p1', '--fuzz=0', '--no-backup-if-mismatch'], input=patch, text=True, cwd=copy, check=True,
                       stdout=subprocess.DEVNULL)
        build_copy(copy)
        said = subprocess.run([copy / 'show', copy / 'toast-read', here / 'wobble.mlir'], capture_output=True, text=True)
    print(said.stdout + said.stderr)
    rule = re.search(r'^stablehlo\.wobble (.*)$', said.stdout, re.M)
    if said.returncode or not rule or 'warning' in said.stdout:
        sys.exit('the op is not read and analysed')
    if not re.match(r'\(\[(\w+), (\w+)\]\) ?-> ?\(\[\1, \2\]\)', rule.group(1)):
        sys.exit(f'its dimensions are not sharded together: {rule.group(1)}')


if __name__ == '__main__':
    main()

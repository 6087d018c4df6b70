#!/usr/bin/env python3
# label: unit
# timeout: 120
"""The paper's figures 4a, 4b, 4c, 5a, 5c, 5d and 6 as `toast analyze --names` prints and --dot draws them: its names mapped
to ours by where they stand, then maps, identities, conflicts, boxes and paths compared."""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

toast = os.environ['TOAST_BIN'] + '/toast'
tests = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests'
Line = collections.namedtuple('Line', 'op results operands m i')


def check(ok, what):
    if not ok:
        sys.exit(f'failed: {what}')


def run(*args):
    done = subprocess.run([toast, 'analyze', *map(str, args)], capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    return done.stdout


def tensors(text):
    return [names.split(', ') if names else [] for names in re.findall(r'%\d+ : \[([^]]*)\]', text)]


def pairs(line, sign):
    return {tuple(entry.split(sign)) for entry in line.split(': ', 1)[1].split(', ')}


def listing(module, level):
    """lines of the program, then what follows them"""
    lines, rest = [], []
    for text in run(module, '--names', level).splitlines():
        if rest or re.match(r'no conflicts|conflicts', text):
            rest.append(text)
        elif text.startswith('    M: '):
            lines[-1] = lines[-1]._replace(m=pairs(text, ' -> '))
        elif text.startswith('    I: '):
            lines[-1] = lines[-1]._replace(i=pairs(text, ' = '))
        else:
            head, _, tail = text.partition(' = ') if ' = ' in text else (text, '', '') if '(' not in text else ('', '', text)
            lines.append(Line(tail.partition('(')[0], tensors(head), tensors(tail), set(), set()))
    return lines, rest


def conflicts_of(rest):
    return [tuple(re.search(r'\((\w+), (\w+)\)', line).groups()) for line in rest if line.startswith('  set')]


def boxes_of(rest):
    found = []
    for line in rest:
        match = re.match(r'  (compatible|crossed) +(\w+) -> (\w+), (\w+) -> (\w+)(?:; across (.*))?$', line)
        if match:
            found.append((match[1], match.group(2, 3, 4, 5), match[6].split(' -> ') if match[6] else None))
    return found


def only(lines, op):
    found = [line for line in lines if line.op == 'stablehlo.' + op]
    check(found, f'no {op}')
    return found


def translated(wanted, theirs, ours):
    """pairs in the paper's names as pairs in ours; theirs and ours: the names of the same tensors, in order"""
    names = dict(zip((n for t in theirs for n in t), (n for t in ours for n in t), strict=True))
    check(len(set(names.values())) == len(names), f'names that the paper has apart are one: {names}')
    return {tuple(names[n] for n in pair.split(' ')) for pair in wanted}, set(names.values())


def mlp_tensors(lines):
    (first, second), relu = only(lines, 'dot_general'), only(lines, 'maximum')[0]
    return [t for line in lines[:3] for t in line.results] + first.results + first.operands + relu.results + relu.operands[:1] \
        + second.results + second.operands, (first, relu, second)


def figure_4a():
    lines, _ = listing(tests / 'models/mlp.mlir', 'fresh')
    ours, ops = mlp_tensors(lines)
    theirs = [t.split() for t in ['B X', 'T U', 'V W', 'A1 A2', 'B1 X1', 'T1 U1', 'C1 C2', 'D1 D2', 'E1 E2', 'F1 F2', 'V1 W1']]
    m, known = translated(['B B1', 'X X1', 'T T1', 'U U1', 'A1 D1', 'A2 D2', 'C1 F1', 'C2 F2', 'V V1', 'W W1'], theirs, ours)
    i, _ = translated(['A1 B1', 'A2 U1', 'X1 T1', 'C1 D1', 'C2 D2', 'E1 F1', 'E2 W1', 'V1 F2'], theirs, ours)
    # our ReLU is a maximum with zeros, whose names the paper does not have
    check(m == {p for op in ops for p in op.m if set(p) <= known}, 'M of figure 4a')
    check({frozenset(p) for p in i} == {frozenset(p) for op in ops for p in op.i if set(p) <= known}, 'I of figure 4a')


def figure_4b_and_4c():
    lines, rest = listing(tests / 'models/mlp.mlir', 'identities')
    ours, ops = mlp_tensors(lines)
    # as 4a, with one name where the paper joins several: what a name is printed as, by tensor
    theirs = 'B X T U V W A1 A2 A1 X1 X1 A2 C1 C2 C1 C2 E1 E2 E1 V1 V1 E2'.split()
    names = {}
    for their, our in zip(theirs, [n for t in ours for n in t], strict=True):
        check(names.setdefault(their, our) == our, f'{their} of figure 4b is {names[their]} and {our}')
    check(len(set(names.values())) == len(names), 'names of figure 4b')
    m = {tuple(names[n] for n in p.split()) for p in
         ['B A1', 'X X1', 'T X1', 'U A2', 'A1 C1', 'A2 C2', 'C1 E1', 'C2 V1', 'V V1', 'W E2']}
    check(m == {p for op in ops for p in op.m if set(p) <= set(names.values())}, 'M of figure 4b')
    check(rest == ['no conflicts'], 'mlp has no conflicts')
    ours, _ = mlp_tensors(listing(tests / 'models/mlp.mlir', 'colors')[0])
    names = {}
    for their, our in zip('B X X U U W B U B X X U B U B U B W B U U W'.split(), [n for t in ours for n in t], strict=True):
        check(names.setdefault(their, our) == our, f'{their} of figure 4c is {names[their]} and {our}')
    check(len(set(names.values())) == 4, 'figure 4c has four names')


def figure_5():
    module = tests / 'models/paper_attention.mlir'
    lines, rest = listing(module, 'colors')
    scores = only(lines, 'dot_general')[3]
    check(scores.results[0][0] == scores.results[0][1] == lines[0].results[0][0], 'figure 5a: a is [S, S]')
    check(only(lines, 'divide')[0].results == scores.results, 'figure 5a: d is [S, S]')
    lines, rest = listing(module, 'identities')
    dots, transpose, reduce = only(lines, 'dot_general'), only(lines, 'transpose')[0], only(lines, 'reduce')[0]
    divide, (narrow, wide) = only(lines, 'divide')[0], only(lines, 'broadcast_in_dim')
    keys, values, queries, scores, last = dots
    s = {n for line in (keys, values, queries) for n in line.results[0][:1]} | {lines[0].results[0][0]}
    check(len(s) == 4, 'figure 5c: S and three names of its uses')
    # the paper's figure 5d: rows of the scores come from the keys, columns through the transpose from the queries
    edges = {(lines[0].results[0][0], line.results[0][0]) for line in (keys, values, queries)}
    edges |= {(keys.results[0][0], scores.results[0][0]), (queries.results[0][0], transpose.results[0][1]),
              (transpose.results[0][1], scores.results[0][1])}
    rows, columns = scores.results[0]
    edges |= {(rows, reduce.operands[0][0]), (columns, reduce.operands[0][1]), (rows, divide.results[0][0]),
              (columns, divide.results[0][1]), (reduce.results[0][0], narrow.results[0][1]), (narrow.results[0][1], wide.results[0][1]),
              (wide.results[0][0], divide.results[0][0]), (wide.results[0][1], divide.results[0][1]),
              (divide.results[0][0], last.results[0][0]), (divide.results[0][1], last.operands[0][1]),
              (values.results[0][0], last.operands[0][1]), (last.results[0][0], lines[-1].operands[0][0])}
    component = {n for edge in edges for n in edge}
    check(edges == {p for line in lines for p in line.m if component & set(p)}, "figure 5d's component of S")
    wanted = [tuple(scores.results[0]), tuple(reduce.operands[0]), tuple(wide.results[0]), tuple(divide.results[0]), tuple(last.operands[0])]
    check(conflicts_of(rest) == wanted and all('set 0' in line for line in rest if line.startswith('  set')), 'five conflicts, one set')
    check([b[0] for b in boxes_of(rest)] == ['compatible'] * 4, 'four boxes join them')
    drawn(module, edges, conflicts_of(rest), boxes_of(rest))


def drawn(module, edges, conflicts, boxes):
    """the graph for Graphviz is the listing's: nodes by name, M black, conflicts red, boxes blue or dashed, paths orange"""
    with tempfile.TemporaryDirectory() as scratch:
        dot = pathlib.Path(scratch) / 'graph.dot'
        run(module, '--dot', dot)
        text = dot.read_text()
    nodes = dict(re.findall(r'(n\d+) \[label="(\w+)\\n', text))
    of = collections.defaultdict(set)
    for a, b, style in re.findall(r'(n\d+) -> (n\d+)( \[[^]]*\])?;', text):
        of[re.search(r'color=(\w+)', style)[1] if style else 'black'].add((nodes[a], nodes[b]))
    check(of['black'] == edges, f'{module}: M as drawn')
    check({frozenset(p) for p in of['red']} == {frozenset(p) for p in conflicts}, f'{module}: conflicts as drawn')
    for color, kind in (('blue', 'compatible'), ('gray', 'crossed')):
        check(of[color] == {p for b in boxes if b[0] == kind for p in (b[1][:2], b[1][2:])}, f'{module}: {kind} boxes as drawn')
    check(of['orange'] == {p for b in boxes if b[2] for p in zip(b[2], b[2][1:], strict=False)}, f'{module}: paths across as drawn')


def figure_6():
    for name, crossed, path_between in [('box', False, None), ('box_crossed_rows', True, (0, 3)), ('box_crossed_columns', True, (2, 1))]:
        module = tests / f'analysis/data/{name}.mlir'
        lines, rest = listing(module, 'identities')
        definition = only(lines, 'dot_general')[0].results[0]
        use = only(lines, 'divide')[0].operands[0] if crossed else lines[-1].operands[0]
        box = [b for b in boxes_of(rest) if b[1] == (definition[0], use[0], definition[1], use[1])]
        check(len(box) == 1 and (box[0][0] == 'crossed') == crossed, f'{name}: {boxes_of(rest)}')
        path = box[0][2]
        m = {p for line in lines for p in line.m}
        check((path is None) == (path_between is None), f'{name}: a path across')
        if path:
            check((path[0], path[-1]) == (box[0][1][path_between[0]], box[0][1][path_between[1]]), f'{name}: from {path[0]} to {path[-1]}')
            check(set(zip(path, path[1:], strict=False)) <= m, f'{name}: the path is of M')
        sets = {tuple(re.search(r'\((\w+), (\w+)\)', line).groups()): re.match(r'  set (\d+)', line)[1] for line in rest
                if line.startswith('  set')}
        check((sets[tuple(definition)] == sets[tuple(use)]) == (not crossed), f'{name}: the two conflicts are one set unless crossed')
        component = {n for b in boxes_of(rest) for n in b[1]} | {n for b in boxes_of(rest) for n in b[2] or []}
        ends = {p for p in m if component & set(p)}
        while ends != (more := {p for p in m if set(p) & {n for q in ends for n in q}}):
            ends = more
        drawn(module, ends, conflicts_of(rest), boxes_of(rest))


figure_4a()
figure_4b_and_4c()
figure_5()
figure_6()
for arguments in (['--names'], ['--names', 'all']):
    done = subprocess.run([toast, 'analyze', tests / 'models/mlp.mlir', *arguments], capture_output=True, text=True)
    check(done.returncode == 2 and '--names' in done.stderr, f'{arguments}: {done.stderr}')
for name in ['small/t2b_scan.mlir', 'small/unet.mlir', 'small/gpt_torch.mlir']:  # loops, several atoms a dimension, sizes of 1
    for level in ('fresh', 'identities', 'colors'):
        check(len(listing(tests / 'models' / name, level)[0]) > 100, f'{name} at {level}')

#!/usr/bin/env python3
# label: unit
# timeout: 60
"""Our rules against those that Shardy's registry makes (openxla/shardy, op_sharding_rule_registry as of 2026-08), op by op.

A row: what an op's tensors look like, the rule that Shardy gives it, in its notation (a letter is a factor; reduction: its sum is
pending; held: it must be gathered first, or its blocks would move), and where ours differs, why. Every factor that Shardy splits
freely must be one of ours, in the same dimensions of the same tensors, summed or not alike; and the other way round."""
import os
import re
import subprocess
import sys
import tempfile

toast = os.environ['TOAST_BIN'] + '/toast'
MASK = 'blocks that are not looked at give zeros, which are summed'
SPATIAL = 'windows need halos, which are not built'
DRAWS = 'drawn whole on every device'
LAST = 'the last update of an element wins, so their order is kept'
BODY = 'the body sees all elements of several results at once'
NO_CHAIN = 'no chain of divisors, so nothing is tied'

REGION = '({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n  %v = stablehlo.{op} %a, %b : tensor<f32>\n  stablehlo.return %v : tensor<f32>\n}})'
ADD, MAX = REGION.format(op='add'), REGION.format(op='maximum')
TWO = ('({\n^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):\n  %v = stablehlo.add %a, %c : tensor<f32>\n'
       '  %w = stablehlo.maximum %b, %d : tensor<f32>\n  stablehlo.return %v, %w : tensor<f32>, tensor<f32>\n})')
LESS = ('({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n  %v = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n'
        '  stablehlo.return %v : tensor<i1>\n})')
LAST_WINS = '({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n  stablehlo.return %b : tensor<f32>\n})'


def generic(op, rest='', types=''):
    return lambda operands, ins, outs: f'"stablehlo.{op}"({operands}) {rest} : ({ins}) -> {outs}'


def pretty(text):
    return lambda operands, ins, outs: f'stablehlo.{text.format(*operands.split(", "))} : ({ins}) -> {outs}'


def same(op):
    """ops that print one type"""
    return lambda operands, ins, outs: f'stablehlo.{op.format(*operands.split(", "))} : {outs}'


def convolution(dims, window, feature=1, batch=1):
    return lambda operands, ins, outs: (
        f'stablehlo.convolution({operands}) dim_numbers = {dims}, window = {{{window}}} '
        f'{{batch_group_count = {batch} : i64, feature_group_count = {feature} : i64}} : ({ins}) -> {outs}')


def gather(offset, collapsed, index, vector, sizes, batching=''):
    return generic('gather', f'{{dimension_numbers = #stablehlo.gather<offset_dims = {offset}, collapsed_slice_dims = {collapsed}, {batching}'
                   f'start_index_map = {index}, index_vector_dim = {vector}>, slice_sizes = array<i64: {sizes}>}}')


def scatter(body, window, inserted, index, vector, batching=''):
    return generic('scatter', f'{body} {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {window}, inserted_window_dims = '
                   f'{inserted}, {batching}scatter_dims_to_operand_dims = {index}, index_vector_dim = {vector}>}}')


def solve(left):
    return generic('triangular_solve', f'{{left_side = {str(left).lower()}, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, '
                   'unit_diagonal = false}')


NHWC = '[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]'
# op, types of operands, types of results, how it is printed, Shardy's rule, what of it ours does not split, what ours splits besides
ROWS = [
    ('add', '8x16 8x16', '8x16', same('add {0}, {1}'), '([i, j], [i, j])->([i, j]) {i=8, j=16}'),
    ('add', 's s', 's', same('add {0}, {1}'), '([], [])->([]) {}'),
    ('batch_norm_inference', '4x6x16 16 16 16 16', '4x6x16',
     generic('batch_norm_inference', '{epsilon = 1.0e-3 : f32, feature_index = 2 : i64}'),
     '([i, j, k], [k], [k], [k], [k])->([i, j, k]) {i=4, j=6, k=16}'),
    ('bitcast_convert', '8x16', '8x16xi32', pretty('bitcast_convert {0}'), '([i, j])->([i, j]) {i=8, j=16}'),
    ('bitcast_convert', '8x16', '8x16x2xi16', pretty('bitcast_convert {0}'), '([i, j])->([i, j, k]) {i=8, j=16, k=2} held={k}'),
    ('bitcast_convert', '8x16x2xi16', '8x16', pretty('bitcast_convert {0}'), '([i, j, k])->([i, j]) {i=8, j=16, k=2} held={k}'),
    ('broadcast_in_dim', '4x6', '4x8x6', pretty('broadcast_in_dim {0}, dims = [0, 2]'), '([i, k])->([i, j, k]) {i=4, j=8, k=6}'),
    ('broadcast_in_dim', 's', '4x8', pretty('broadcast_in_dim {0}, dims = []'), '([])->([i, j]) {i=4, j=8}'),
    ('broadcast_in_dim', '4x1x6', '4x8x6', pretty('broadcast_in_dim {0}, dims = [0, 1, 2]'), '([i, 1, l])->([i, k, l]) {i=4, k=8, l=6}'),
    ('cholesky', '4x6x6', '4x6x6', same('cholesky {0}, lower = true'), '([i, j, k])->([i, j, k]) {i=4, j=6, k=6} held={j, k}'),
    ('clamp', '4x6 4x6 4x6', '4x6', pretty('clamp {0}, {1}, {2}'), '([i, j], [i, j], [i, j])->([i, j]) {i=4, j=6}'),
    ('clamp', 's 4x6 s', '4x6', pretty('clamp {0}, {1}, {2}'), '([], [i, j], [])->([i, j]) {i=4, j=6}'),
    ('concatenate', '4x8 4x16', '4x24', pretty('concatenate {0}, {1}, dim = 1'), '([i, j], [i, j])->([i, j]) {i=4, j=24} held={j}'),
    ('convolution', '4x12x12x8 3x3x8x6', '4x10x10x6', convolution(NHWC, ''),
     '([i, j, l, n], [k, m, n, o])->([i, j, l, o]) {i=4, j=10, k=3, l=10, m=3, n=8, o=6} reduction={k, m, n} held={j, l}',
     {'k': SPATIAL, 'm': SPATIAL}),
    ('convolution', '4x12x12x8 1x1x8x6', '4x12x12x6', convolution(NHWC, ''),
     '([i, j, l, n], [1, 1, n, o])->([i, j, l, o]) {i=4, j=12, l=12, n=8, o=6} reduction={n}'),
    ('convolution', '4x12x12x8 3x3x2x12', '4x10x10x12', convolution(NHWC, '', feature=4),
     '([i, j, l, no], [k, m, o, np])->([i, j, l, np]) {i=4, j=10, k=3, l=10, m=3, n=4, o=2, p=3} reduction={k, m, o} held={j, l}',
     {'k': SPATIAL, 'm': SPATIAL}),
    ('convolution', '8x12x12x6 3x3x6x12', '2x10x10x12', convolution(NHWC, '', batch=4),
     '([ij, k, m, o], [l, n, o, ip])->([j, k, m, ip]) {i=4, j=2, k=10, l=3, m=10, n=3, o=6, p=3} reduction={l, n, o} held={k, m}',
     {'l': SPATIAL, 'n': SPATIAL}),
    ('custom_call', '8x16', '16x8', pretty('custom_call @other({0}) {{sdy.sharding_rule = '
     '#sdy.op_sharding_rule<([i, j])->([j, i]) {{i=8, j=16}}, custom>}}'), '([i, j])->([j, i]) {i=8, j=16}'),
    ('custom_call', '8x16', '8x16', pretty('custom_call @mhlo.erf({0})'), '([i, j])->([i, j]) {i=8, j=16}'),
    ('dot_general', '8x16 16x6', '8x6', pretty('dot_general {0}, {1}, contracting_dims = [1] x [0]'),
     '([i, k], [k, j])->([i, j]) {i=8, j=6, k=16} reduction={k}'),
    ('dot_general', '16 16', 's', pretty('dot_general {0}, {1}, contracting_dims = [0] x [0]'), '([i], [i])->([]) {i=16} reduction={i}'),
    ('dot_general', '4x8x16 4x16x6', '4x8x6', pretty('dot_general {0}, {1}, batching_dims = [0] x [0], contracting_dims = [2] x [1]'),
     '([i, j, l], [i, l, k])->([i, j, k]) {i=4, j=8, k=6, l=16} reduction={l}'),
    ('dot_general', '2x4x8x10x6 12x6x10x4x2', '2x4x8x12',
     pretty('dot_general {0}, {1}, batching_dims = [0, 1] x [4, 3], contracting_dims = [4, 3] x [1, 2]'),
     '([i, j, k, o, n], [m, n, o, j, i])->([i, j, k, m]) {i=2, j=4, k=8, m=12, n=6, o=10} reduction={n, o}'),
    ('dynamic_slice', '16x6x8 i i i', '16x1x2', pretty('dynamic_slice {0}, {1}, {2}, {3}, sizes = [16, 1, 2]'),
     '([i, j, k], [], [], [])->([i, 1, k]) {i=16, j=6, k=8} held={j, k}', {}, {'j': MASK}),
    ('dynamic_update_slice', '16x6x8 16x1x2 i i i', '16x6x8', pretty('dynamic_update_slice {0}, {1}, {2}, {3}, {4}'),
     '([i, j, l], [i, 1, m], [], [], [])->([i, j, l]) {i=16, j=6, l=8, m=2} held={m}'),
    ('fft', '4x8x16xcomplex<f32>', '4x8x16xcomplex<f32>', pretty('fft {0}, type = FFT, length = [8, 16]'),
     '([i, j, k])->([i, j, k]) {i=4, j=8, k=16} held={j, k}'),
    ('fft', '4x8x16xcomplex<f32>', '4x8x16xcomplex<f32>', pretty('fft {0}, type = IFFT, length = [16]'),
     '([i, j, k])->([i, j, k]) {i=4, j=8, k=16} held={k}'),
    ('gather', '12x8x16 4x6x1xi32', '4x6x8x16', gather([2, 3], [0], [0], 2, '1, 8, 16'),
     '([m, k, l], [i, j, 1])->([i, j, k, l]) {i=4, j=6, k=8, l=16, m=12} reduction={m}'),
    ('gather', '12x8x16 4x6x2xi32', '4x6x4x16', gather([2, 3], [0], '[0, 1]', 2, '1, 4, 16'),
     '([m, k, l], [i, j, n])->([i, j, k, l]) {i=4, j=6, k=8, l=16, m=12, n=2} reduction={m} held={k, n}'),
    ('gather', '6x12x4x8 4x6x10x1xi32', '4x6x10x8',
     gather([3], [1], [1], 3, '1, 1, 1, 8', 'operand_batching_dims = [0, 2], start_indices_batching_dims = [1, 0], '),
     '([j, m, i, l], [i, j, k, 1])->([i, j, k, l]) {i=4, j=6, k=10, l=8, m=12} reduction={m}'),
    ('pad', '12x16 s', '14x16', pretty('pad {0}, {1}, low = [1, 0], high = [1, 0], interior = [0, 0]'),
     '([i, j], [])->([i, j]) {i=12, j=16} held={i}'),
    ('reduce', '4x6x8 s', '4x8', generic('reduce', ADD + ' {dimensions = array<i64: 1>}'),
     '([i, j, k], [])->([i, k]) {i=4, j=6, k=8} reduction={j}'),
    ('reduce', '4x6x8 s', '6', generic('reduce', MAX + ' {dimensions = array<i64: 0, 2>}'),
     '([i, j, k], [])->([j]) {i=4, j=6, k=8} reduction={i, k}'),
    ('reduce', '4x6x8 4x6x8 s s', '6 6', generic('reduce', TWO + ' {dimensions = array<i64: 0, 2>}'),
     '([i, j, k], [i, j, k], [], [])->([j], [j]) {i=4, j=6, k=8} reduction={i, k}', {'i': BODY, 'k': BODY}),
    ('reduce_window', '4x12x8 s', '4x6x8',
     generic('reduce_window', MAX + ' {window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}'),
     '([i, j, k], [])->([i, j, k]) {i=4, j=12, k=8} held={j}'),
    ('reduce_window', '8x16 s', '8x16',
     generic('reduce_window', MAX + ' {window_dimensions = array<i64: 1, 1>}'), '([i, j], [])->([i, j]) {i=8, j=16}'),
    ('reshape', '1x1', 's', pretty('reshape {0}'), '([1, 1])->([]) {}'),
    ('reshape', '4x6', '24', pretty('reshape {0}'), '([i, j])->([ij]) {i=4, j=6}'),
    ('reshape', '24', '4x6', pretty('reshape {0}'), '([ij])->([i, j]) {i=4, j=6}'),
    ('reshape', '5x30', '5x2x3x5', pretty('reshape {0}'), '([i, jkl])->([i, j, k, l]) {i=5, j=2, k=3, l=5}'),
    ('reshape', '8x6x5', '2x24x5', pretty('reshape {0}'), '([ij, k, l])->([i, jk, l]) {i=2, j=4, k=6, l=5}'),
    ('reshape', '3x2', '2x3', pretty('reshape {0}'), '([i, l])->([j, k]) {i=3, l=2, j=2, k=3}', dict.fromkeys('iljk', NO_CHAIN)),
    ('reshape', '6x4', '4x6', pretty('reshape {0}'), '([ij, mn])->([ik, ln]) {i=2, j=3, k=2, l=3, m=2, n=2}', dict.fromkeys('ijmnkl', NO_CHAIN)),
    ('reshape', '1x8x4', '8x1x4x1', pretty('reshape {0}'), '([1, j, l])->([j, 1, l, 1]) {j=8, l=4}'),
    ('reshape', '8x4', '32x1', pretty('reshape {0}'), '([i, j])->([ij, 1]) {i=8, j=4}'),
    ('reshape', '32', '8x1x4', pretty('reshape {0}'), '([ik])->([i, 1, k]) {i=8, k=4}'),
    ('reverse', '4x16x8', '4x16x8', same('reverse {0}, dims = [1]'), '([i, j, k])->([i, j, k]) {i=4, j=16, k=8} held={j}'),
    ('rng_bit_generator', '2xui64', '2xui64 8x16xui32', pretty('rng_bit_generator {0}, algorithm = DEFAULT'),
     '([i])->([i], [j, k]) {i=2, j=8, k=16} held={i}', {'j': DRAWS, 'k': DRAWS}),
    ('scatter', '12x8x16 4x6x1xi32 4x6x8x16', '12x8x16', scatter(ADD, [2, 3], [0], [0], 2),
     '([n, k, m], [i, j, 1], [i, j, k, m])->([n, k, m]) {i=4, j=6, k=8, m=16, n=12} reduction={i, j}'),
    ('scatter', '12x8x16 4x6x2xi32 4x6x4x16', '12x8x16', scatter(ADD, [2, 3], [0], '[0, 1]', 2),
     '([n, k, m], [i, j, o], [i, j, l, m])->([n, k, m]) {i=4, j=6, k=8, l=4, m=16, n=12, o=2} reduction={i, j} held={l, o}',
     {'k': 'the updates are windows of it, which a block may cut'}),
    ('scatter', '12x16 6x1xi32 6x16', '12x16', scatter(LAST_WINS, [1], [0], [0], 1),
     '([n, m], [i, 1], [i, m])->([n, m]) {i=6, m=16, n=12} reduction={i}', {'i': LAST}),
    ('select', '4x6xi1 4x6 4x6', '4x6', lambda operands, ins, outs: f'stablehlo.select {operands} : {ins.split(", ")[0]}, {outs}',
     '([i, j], [i, j], [i, j])->([i, j]) {i=4, j=6}'),
    ('select', 'xi1 4x6 4x6', '4x6', lambda operands, ins, outs: f'stablehlo.select {operands} : {ins.split(", ")[0]}, {outs}',
     '([], [i, j], [i, j])->([i, j]) {i=4, j=6}'),
    ('select_and_scatter', '4x12x8 4x6x8 s', '4x12x8',
     generic('select_and_scatter', f'{LESS.replace("({", "({", 1)[:-1]}, {ADD[1:]} '
             '{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}'),
     '([i, j, k], [i, l, k], [])->([i, j, k]) {i=4, j=12, k=8, l=6} held={j, l}'),
    ('slice', '4x16x8', '4x6x8', pretty('slice {0} [0:4, 3:9, 0:8]'), '([i, j, k])->([i, j, k]) {i=4, j=16, k=8} held={j}'),
    ('sort', '4x16x8', '4x16x8', generic('sort', LESS + ' {dimension = 1 : i64, is_stable = true}'),
     '([i, j, k])->([i, j, k]) {i=4, j=16, k=8} held={j}'),
    ('transpose', '4x6x8', '8x4x6', pretty('transpose {0}, dims = [2, 0, 1]'), '([j, k, i])->([i, j, k]) {i=8, j=4, k=6}'),
    ('triangular_solve', '4x6x6 4x6x10', '4x6x10', solve(True),
     '([i, j, l], [i, j, k])->([i, l, k]) {i=4, j=6, k=10, l=6} held={j, k, l}'),
    ('triangular_solve', '4x6x6 4x10x6', '4x10x6', solve(False),
     '([i, l, k], [i, j, k])->([i, j, l]) {i=4, j=10, k=6, l=6} held={j, k, l}'),
]


def type_of(word):
    if word in ('s', 'i'):
        return {'s': 'tensor<f32>', 'i': 'tensor<i32>'}[word]
    return f'tensor<{word.removeprefix("x")}>' if re.search(r'[a-z]', word.replace('x', '')) else f'tensor<{word}xf32>'


def module(row):
    """the op alone in a function, on its arguments"""
    _, operands, results, printed, *_ = row
    ins, outs = [type_of(w) for w in operands.split()], [type_of(w) for w in results.split()]
    names = [f'%r{k}' for k in range(len(ins))]
    text = printed(', '.join(names), ', '.join(ins), outs[0] if len(outs) == 1 else f'({", ".join(outs)})')
    found, returned = ('%o', ['%o']) if len(outs) == 1 else (f'%o:{len(outs)}', [f'%o#{k}' for k in range(len(outs))])
    return (f'func.func @main({", ".join(f"{n}: {t}" for n, t in zip(names, ins, strict=True))}) -> ({", ".join(outs)}) {{\n'
            f'{found} = {text}\nreturn {", ".join(returned)} : {", ".join(outs)}\n}}\n')


def rule_of(row):
    with tempfile.NamedTemporaryFile('w', suffix='.mlir') as file:
        file.write(module(row))
        file.flush()
        done = subprocess.run([toast, 'analyze', file.name, '--rules'], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{done.stderr}\n{module(row)}')
    found = [line.split(None, 2)[2] for line in done.stdout.splitlines() if re.match(fr' *\d+ stablehlo\.{row[0]} ', line)]
    if len(found) != 1:
        sys.exit(f'{len(found)} ops {row[0]} in\n{done.stdout}')
    return found[0]


def places(rule):
    """letter -> dimensions that it is in: (tensor, dimension); operands first"""
    found = {}
    tensors = re.findall(r'\[([^]]*)\]', rule.split('{')[0])
    for tensor, dims in enumerate(tensors):
        for dim, text in enumerate(dims.split(', ') if dims else []):
            for letter in re.findall(r'[a-z]\d*', text):
                found.setdefault(letter, set()).add((tensor, dim))
    return found


def listed(rule, word):
    match = re.search(word + r'=\{([^}]*)\}', rule)
    return set(match[1].split(', ')) if match else set()


def split_freely_by_shardy(rule):
    """letter -> (places, size, summed)"""
    sizes = dict(re.findall(r'([a-z])=(\d+)', rule.split('{', 1)[1].split('}')[0]))
    return {letter: (frozenset(where), int(sizes[letter]), letter in listed(rule, 'reduction'))
            for letter, where in places(rule).items() if letter not in listed(rule, 'held')}


def split_by_us(rule):
    found = {}
    kinds = {}
    for letter, size, kind in re.findall(r'([a-z]\d*)=(\d+)((?: [a-z]+)*)', rule.rsplit('{', 1)[1]):
        kinds[letter] = int(size), kind.split()
    for letter, where in places(rule).items():
        size, kind = kinds[letter]
        if 'windowed' not in kind and 'replicate' not in kind:
            found[letter] = frozenset(where), size, bool({'add', 'max', 'partial'} & set(kind))
    return found


def held_differently(row, ours):
    """what is wrong with our rule, or nothing"""
    op, theirs, less, more = row[0], row[4], row[5] if len(row) > 5 else {}, row[6] if len(row) > 6 else {}
    free, split = split_freely_by_shardy(theirs), split_by_us(ours)
    held = {frozenset(where): letter for letter, where in places(theirs).items() if letter in listed(theirs, 'held')}
    lookup = op in ('scatter',)  # a block of the operand takes the updates that fall into it: nothing is pending
    left = {value[:2] if lookup else value for value in split.values()}
    for letter, value in free.items():
        value = value[:2] if lookup else value
        if (value in left) == (letter in less):
            yield f'{letter} of Shardy is {"in" if value in left else "not in"} ours'
        left.discard(value)
    for value in left:
        letter = held.get(value[0])
        if letter not in more:
            yield f'ours splits {sorted(value[0])}, which Shardy {"holds" if letter else "does not have"}'
    for letter in more:
        if not any(frozenset(places(theirs)[letter]) >= value[0] for value in left):
            yield f'{letter} is said to be split by ours'


wrong = [f'{row[0]}: {what}\n  Shardy {row[4]}\n  ours   {rule}' for row in ROWS for rule in [rule_of(row)]
         for what in held_differently(row, rule)]
if wrong:
    sys.exit('\n'.join(wrong))
print(f'{len(ROWS)} ops, {sum(bool(row[5:]) for row in ROWS)} with a difference that has its reason')

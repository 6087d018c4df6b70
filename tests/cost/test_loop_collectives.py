#!/usr/bin/env python3
# label: unit
"""Collectives of one loop's body that nothing waits for in between run as one on a GPU: the parts of a layer's two weights that are gathered,
also where an earlier loop has saved the layers' weights in a narrower type, and their gradients. Small ones take as long as one of them."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

ROWS, WEIGHT, STACK, LAYER, NARROW, SAVED = (f'tensor<{dims}>' for dims in (
    '256x64xbf16', '64x64xbf16', '8x64x64xf32', '1x64x64xf32', '1x64x64xbf16', '8x64x64xbf16'))
CONSTANTS = """
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>"""


def loop(name, carried, body, returned):
    """a while of eight turns over `carried`, [(name, its begin, type)]; the body returns `returned` behind the counter"""
    types = ', '.join(kind for _, _, kind in carried)
    return f"""
  %{name}:{len(carried) + 1} = stablehlo.while(%i = %zero, {', '.join(f'%{own} = %{begin}' for own, begin, _ in carried)}) : tensor<i32>, {types}
  cond {{
    %go = stablehlo.compare LT, %i, %eight : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  }} do {{{body}
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, {', '.join('%' + value for value in returned)} : tensor<i32>, {types}
  }}"""


def layer(stack, kind=STACK):
    """%STACK_w: this turn's weight of the stack, in bfloat16"""
    of = LAYER if kind == STACK else NARROW
    return f"""
    %{stack}_l = stablehlo.dynamic_slice %{stack}, %i, %zero, %zero, sizes = [1, 64, 64] : ({kind}, tensor<i32>, tensor<i32>, tensor<i32>) -> {of}
    %{stack}_n = stablehlo.convert %{stack}_l : ({of}) -> {NARROW}
    %{stack}_w = stablehlo.reshape %{stack}_n : ({NARROW}) -> {WEIGHT}"""


def product(result, rows, weight):
    return f'\n    %{result} = stablehlo.dot_general %{rows}, %{weight}, contracting_dims = [1] x [0] : ({ROWS}, {WEIGHT}) -> {ROWS}'


def saved(stack, into):
    return f"""
    %{into}_s = stablehlo.dynamic_update_slice %{into}, %{stack}_n, %i, %zero, %zero : ({SAVED}, {NARROW}, tensor<i32>, tensor<i32>, tensor<i32>) -> {SAVED}"""


def collectives_us(loops, stacks=(), plan=('--baseline', 'fsdp:x')):
    """of the module under the plan over two GPUs; it returns the rows and these saved stacks"""
    types = ', '.join([ROWS] + [SAVED] * len(stacks))
    text = f"""func.func @main(%x: {ROWS}, %up: {STACK}, %down: {STACK}) -> ({types}) {{{CONSTANTS}{loops}
  return {', '.join('%' + value for value in ('r#1', *stacks))} : {types}
}}
"""
    return price_of(text, 'h100', *plan)['communication_ps'] / 1e6


def weights(count, ups='up', downs='down', kind=STACK):
    """-> what is carried of them, the body's steps, what it hands on: of one weight or two; a product with each"""
    return ([('u', ups, kind), ('d', downs, kind)][:count], ''.join([layer('u', kind), layer('d', kind)][:count])
            + product('a', 'h', 'u_w') + (product('b', 'a', 'd_w') if count > 1 else ''), ['a' if count == 1 else 'b', 'u', 'd'][:count + 1])


def plain(count):
    carried, steps, returned = weights(count)
    return loop('r', [('h', 'x', ROWS), *carried], steps, returned),


def again(count):
    """-> the module's loops: one that saves the weights in bfloat16 beside its products, and one that reads what was saved"""
    carried, steps, returned = weights(count)
    stores = [('us', 'none', SAVED), ('ds', 'none', SAVED)][:count]
    first = loop('q', [('h', 'x', ROWS), *carried, *stores], steps + ''.join([saved('u', 'us'), saved('d', 'ds')][:count]),
                 returned + ['us_s', 'ds_s'][:count])
    carried, steps, returned = weights(count, f'q#{count + 2}', f'q#{count + 3}', SAVED)
    return f'\n  %none = stablehlo.constant dense<0.0> : {SAVED}' + first + loop('r', [('h', 'q#1', ROWS), *carried], steps, returned),


def gradients(count):
    """-> loops, of which the first saves sums over the batch, of one product or two, and hands on rows to a product; the saved stacks; the plan: rows in two"""
    carried, steps, _ = weights(2)
    stores = [('us', 'none', SAVED), ('ds', 'none', SAVED)][:count]
    sums = ''.join(f"""
    %g{k} = stablehlo.dot_general %{rows}, %{rows}, contracting_dims = [0] x [0] : ({ROWS}, {ROWS}) -> {WEIGHT}
    %{into}_n = stablehlo.reshape %g{k} : ({WEIGHT}) -> {NARROW}{saved(into, into)}""" for k, (rows, into) in enumerate([('h', 'us'), ('a', 'ds')][:count]))
    first = loop('q', [('h', 'x', ROWS), *carried, *stores], steps + sums, ['b', 'u', 'd'] + ['us_s', 'ds_s'][:count])
    return f'\n  %none = stablehlo.constant dense<0.0> : {SAVED}' + first + plain(2)[0].replace('= %x', '= %q#1'), [f'q#{4 + k}' for k in range(count)], ('--decisions', 'ffn@x')


if __name__ == '__main__':
    for name, loops in {'gathered': plain, 'saved and gathered': again, 'gradients': gradients}.items():
        one, two = (collectives_us(*loops(count)) for count in (1, 2))
        print(f'{name}: one {one:.1f} us, two {two:.1f} us')
        if not one < two < 1.2 * one:
            sys.exit(f'{name}: two of a turn do not run as one')

#!/usr/bin/env python3
# label: unit
# timeout: 120
"""toast prove: equal, different, inconclusive and not run by status and text; optimizers' states give no NaN; inputs from an .npz file.

The modules of tests/verify/steps are JAX's: train steps of one linear layer under five optimizers, of two under a sixth, of two with
their gradient clipped, of attention with a bias of the keys, too; the gradient of attention with a bias of the keys, which no loss
depends on; a sum over what its mean was taken from; LAPACK's calls for CPUs, those of JAX 0.4.38 that scale first, too, those of cuSOLVER,
and those for TPUs; dropout by rng_bit_generator with a debug.print."""
import json, os, pathlib, re, struct, subprocess, sys, tempfile, zipfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
steps = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/verify/steps'
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED', what)


def prove(module, *arguments):
    run = subprocess.run([toast, 'prove', str(module), '--mesh', 'a=4,b=2', *arguments], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


for name in ('adafactor', 'amsgrad', 'centered_rmsprop', 'clipped', 'cocob', 'adagrad', 'key_bias_adam', 'yogi', 'centered_sum', 'lapack_solves', 'lapack_scaled', 'lapack_factors', 'lapack_singular', 'cusolver', 'tpu_solves', 'drawn_bits'):
    status, said = prove(steps / f'{name}.mlir', '--random-plans', '20')
    check(status == 0 and '20 equal, 0 different, 0 inconclusive, 0 not run' in said, f'{name}: {status} {said}')
    # also of sums that cancel, whose error is more than they are: it is beside what was summed
    check(float(re.search('largest error ([^;]+);', said)[1]) <= 0.01, f'{name}: equal, with an error beyond every tolerance: {said}')

# one function as JAX lowers it for CPUs, for GPUs and for TPUs: LAPACK's calls, cuSOLVER's and XLA's mean the same
for other in 'cusolver', 'tpu_solves':
    status, said = prove(steps / f'{other}_cpu.mlir', '--baseline', 'replicated', '--lowered', str(steps / f'{other}.mlir'))
    check(status == 0 and 'equal' in said, f'{other}, the same for CPUs: {status} {said}')

# what JAX 0.4.38 has a third operand of a solve for: the right side is scaled by it
with tempfile.TemporaryDirectory() as scratch:
    once = (steps / 'lapack_scaled.mlir').read_text()
    call = r'( +)(%0 = stablehlo.custom_call @lapack_strsm_ffi\(%arg0, )%arg1, '
    texts = {'scaled': once.replace('%cst = stablehlo.constant dense<1.000000e+00>', '%cst = stablehlo.constant dense<2.000000e+00>'),
             'doubled': re.sub(call, r'\1%b = stablehlo.add %arg1, %arg1 : tensor<8x4xf32>\n\1\2%b, ', once)}
    for name, text in texts.items():
        check(text != once, f'{name}: nothing changed')
        (pathlib.Path(scratch) / f'{name}.mlir').write_text(text)
    for lowered, wanted in ((f'{scratch}/doubled.mlir', 0), (steps / 'lapack_scaled.mlir', 1)):
        status, said = prove(f'{scratch}/scaled.mlir', '--baseline', 'replicated', '--lowered', str(lowered))
        check(status == wanted, f'a scaled solve against {lowered}: {status} {said}')

# an error in what the inputs leave out: the norm by which no gradient is clipped, as they are small (also beside -inf, as JAX's softmax
# has its largest); a second moment of Adafactor's, which is recognised, so that gradients count beside it; a gradient that is small
# beside a kept sum of its squares, and an update that is small beside its parameter
with tempfile.TemporaryDirectory() as scratch:
    larger = pathlib.Path(scratch) / 'larger.mlir'
    text, count = re.subn(r'(%\S+) = stablehlo.sqrt (%\S+) : tensor<f32>',
                          r'%root = stablehlo.sqrt \2 : tensor<f32>\n    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>\n'
                          r'    \1 = stablehlo.maximum %least, %root : tensor<f32>', (steps / 'clipped.mlir').read_text())
    check(count == 1, f'{count} norms')
    larger.write_text(text)
    norm = (r'(%\S+) = stablehlo.sqrt (%\S+) : tensor<f32>',
            r'%norm = stablehlo.add \2, \2 : tensor<f32>\n    \1 = stablehlo.sqrt %norm : tensor<f32>')
    doubled = (r'(%\S+) = ("stablehlo.reduce_scatter"(?:.*\n){4}.*-> )(tensor<(?:4x16|8x2)xf32>)',
               r'%right = \2\3\n    \1 = stablehlo.add %right, %right : \3')
    added = (r'(stablehlo.transpose %\S+, dims = \[1, 0\] : .*\n)([^/]*)stablehlo.multiply', r'\1\2stablehlo.add')
    compared = 'number 0 of those that choices compare is '   # a manual module's cannot be seen, but turned
    for module, form, wrong, shown in ((steps / 'clipped.mlir', 'manual', norm, 'turned inputs, in f64'),
                                       (steps / 'clipped.mlir', 'local', norm, compared), (larger, 'local', norm, compared),
                                       (steps / 'adafactor.mlir', 'local', added, ''), (steps / 'cocob.mlir', 'local', doubled, ''),
                                       (steps / 'adagrad.mlir', 'local', doubled, 'plain inputs, in f64')):
        plan = ['--baseline', 'fsdp:a+fsdp:b']
        lowered = subprocess.run([toast, 'lower', str(module), '--mesh', 'a=4,b=2', *plan, '--form', form],
                                 capture_output=True, text=True).stdout
        planted, count = re.subn(*wrong, lowered, count=1)
        (pathlib.Path(scratch) / 'planted.mlir').write_text(planted)
        status, said = prove(module, *plan, '--lowered', f'{scratch}/planted.mlir')
        check(count == 1 and status == 1 and 'different' in said and shown in said, f'{module.name}, planted: {count} {status} {said}')

# a bias that nothing depends on: its gradient is rounding, beside what was summed; a quotient of that is neither right nor wrong
status, said = prove(steps / 'key_bias.mlir', '--random-plans', '20')
check(status == 0 and '20 equal, 0 different, 0 inconclusive' in said, f'a bias that nothing depends on: {status} {said}')
folder = tempfile.TemporaryDirectory()
quotient = pathlib.Path(folder.name) / 'quotient.mlir'
quotient.write_text((steps / 'key_bias.mlir').read_text().replace(
    '    return %46, %44,', '    %square = stablehlo.multiply %44, %44 : tensor<8xf32>\n'
    '    %quotient = stablehlo.divide %44, %square : tensor<8xf32>\n    return %46, %quotient,'))
status, said = prove(quotient, '--random-plans', '40')
found = re.search(r'(\d+) equal, 0 different, (\d+) inconclusive, 0 not run', said)
check(status == 7 and found and int(found[2]) > 10, f'a quotient by rounding: {status} {said}')
status, said = prove(quotient, '--random-plan', '16', '--json')
proof = json.loads(said)
check(status == 7 and proof['status'] == 'inconclusive' and proof['reason'].startswith('rounding: plain inputs, in f64: result 1 ('),
      f'proof.json says why: {status} {proof}')

# too large as it is (6 * 10^13 operations): each random plan at sizes of its own
large = pathlib.Path(folder.name) / 'large.mlir'
square = 'tensor<32768x32768xf32>'
large.write_text(f'func.func @main(%x: {square}, %w: {square}) -> {square} {{\n'
                 f'  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}\n  return %y : {square}\n}}\n')
status, said = prove(large, '--random-plans', '6')
check(status == 0 and '6 equal, 0 different, 0 inconclusive, 0 not run' in said and '6 of them at smaller sizes' in said, f'random plans of what is large: {status} {said}')
check('smaller sizes' not in prove(steps / 'adagrad.mlir', '--random-plans', '2')[1], 'small modules are proved as they are')


# ---- inputs from a file
def npy(dims, numbers, kind='<f4', order=False):
    code = {'<f4': 'f', '<i4': 'i', '<f8': 'd', '<i8': 'q', '<u8': 'Q', '|b1': '?', '|i1': 'b', '<f2': 'e', '<c16': 'd'}[kind]
    head = str({'descr': kind, 'fortran_order': order, 'shape': tuple(dims)})
    head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + struct.pack(f'<{len(numbers)}{code}', *numbers)


def archive(path, members, packed):
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as file:
        for name, data in members.items():
            with file.open(f'{name}.npy', 'w', force_zip64=True) as member:   # as numpy.savez writes
                member.write(data)


with tempfile.TemporaryDirectory() as scratch:
    numbers = [((37 * i) % 101) / 101 for i in range(64 * 16)]
    module, file = steps / 'centered_sum.mlir', f'{scratch}/in.npz'
    for packed in False, True:
        archive(file, {'arr_0': npy((64, 16), numbers)}, packed)
        status, said = prove(module, '--random-plan', '3', '--inputs', file)
        check(status == 0 and '1 runs' in said, f'inputs from a file: {status} {said}')
    archive(file, {'arg0': npy((64, 16), numbers, order=True)}, True)
    check(prove(module, '--random-plan', '3', '--inputs', file)[0] == 0, 'the first dimension varies fastest')
    for name, data, says in (('arr_0', npy((16, 64), numbers), "'arr_0' of the inputs is float32[16,64], argument 0 is f32[64,16]"),
                             ('arr_0', npy((64, 16), [1] * 512, '<c16'), 'complex128[64,16], argument 0 is f32[64,16]'),
                             ('arr_0', npy((64, 16), [0.5] * 1023 + [0.1], '<f8'), 'cannot hold 0.10000000000000001, element 1023'),
                             ('weights', npy((64, 16), numbers), "no array 'arg0'"), ('arr_0', npy((64, 16), numbers)[:-4], 'damaged'),
                             ('arr_0', b'numbers', 'damaged')):
        archive(file, {name: data}, True)
        status, said = prove(module, '--random-plan', '3', '--inputs', file)
        check(status == 2 and says in said, f'{says}: {status} {said}')
    for kind, told in ('<f8', [k / 1024 for k in range(1024)]), ('<i8', range(1024)), ('<f2', [k / 2 for k in range(1024)]):
        archive(file, {'arr_0': npy((64, 16), told, kind)}, True)
        check(prove(module, '--random-plan', '3', '--inputs', file)[0] == 0, f'{kind} is converted')
    archive(file, {'arr_0': npy((64, 16), numbers), 'more': npy((1,), [0.5])}, True)
    check("array 'more'" in prove(module, '--random-plan', '3', '--inputs', file)[1], 'an array too many is named')
    whole = pathlib.Path(file).read_bytes()
    for cut in range(0, len(whole), 61):   # a damaged file is refused, never believed
        pathlib.Path(file).write_bytes(whole[:cut] + bytes([whole[cut] ^ 0x5a]) + whole[cut + 1:])
        status, said = prove(module, '--random-plan', '3', '--inputs', file)
        check(status in (0, 2), f'byte {cut} changed: {status} {said}')
    nan = [float('nan')] + numbers[1:]
    archive(file, {'arr_0': npy((64, 16), nan)}, True)
    status, said = prove(module, '--random-plan', '3', '--inputs', file)
    check(status == 2 and 'NaN' in said, f'a NaN in the result proves nothing: {status} {said}')

# numbers of another type than the argument's, at the ends of what that can hold; None: not tried
CASES = (('i32', '<i8', -2**31, 2**31), ('i32', '<i8', 2**31 - 1, -2**31 - 1), ('ui8', '<i8', 255, -1), ('i64', '<u8', 2**63 - 1, 2**63), ('bf16', '<f4', 1.0078125, 1.00390625),
         ('f32', '<i8', 2**24, 2**24 + 1), ('i1', '<i8', 1, None), ('f16', '<f8', 65504.0, None), ('ui64', '<f8', 2.0**63, None), ('f64', '<i8', 2**53, None), ('f32', '|b1', True, None))
with tempfile.TemporaryDirectory() as scratch:
    module, file = pathlib.Path(scratch) / 'typed.mlir', f'{scratch}/in.npz'
    types = [f'tensor<8x{element}>' for element, *_ in CASES]
    module.write_text(f'''func.func @main({', '.join(f'%{i}: {t}' for i, t in enumerate(types))}) -> ({', '.join(types)}) {{
  return {', '.join(f'%{i}' for i in range(len(types)))} : {', '.join(types)}
}}
''')
    fit = {f'arr_{i}': npy((8,), [0, number] + [0] * 6, kind) for i, (_, kind, number, _) in enumerate(CASES)}
    archive(file, fit, False)
    status, said = prove(module, '--random-plan', '1', '--inputs', file)
    check(status == 0, f'numbers that fit: {status} {said}')
    for i, (element, kind, _, number) in enumerate(CASES):
        if number is not None:
            archive(file, {**fit, f'arr_{i}': npy((8,), [0, number] + [0] * 6, kind)}, False)
            status, said = prove(module, '--random-plan', '1', '--inputs', file)
            check(status == 2 and f"'arr_{i}' of the inputs" in said and 'element 1 of it' in said, f'{number} as {kind} for {element}: {status} {said}')

sys.exit(bool(failures))

"""Train steps as StableHLO text of any size, without JAX: a chain of square layers with Adam."""


class Writer:
    def __init__(self):
        self.lines, self.count = [], 0

    def op(self, text):
        self.lines.append(f'    %v{self.count} = {text}')
        self.count += 1
        return f'%v{self.count - 1}'

    def constant(self, value, type_):
        return self.op(f'stablehlo.constant dense<{value}> : {type_}')

    def binary(self, name, one, other, type_):
        return self.op(f'stablehlo.{name} {one}, {other} : {type_}')

    def dot(self, one, other, contract, types, result):
        return self.op(f'stablehlo.dot_general {one}, {other}, contracting_dims = [{contract[0]}] x [{contract[1]}] : '
                       f'({types[0]}, {types[1]}) -> {result}')


def adam(w, gradient, moments, type_):
    """new moments and the step, not yet multiplied by the rate"""
    kept = [w.constant(value, type_) for value in ('9.0e-01', '1.0e-01', '9.9e-01', '1.0e-02', '1.0e-08')]
    first = w.binary('add', w.binary('multiply', moments[0], kept[0], type_),
                     w.binary('multiply', gradient, kept[1], type_), type_)
    square = w.binary('multiply', gradient, gradient, type_)
    second = w.binary('add', w.binary('multiply', moments[1], kept[2], type_),
                      w.binary('multiply', square, kept[3], type_), type_)
    below = w.binary('add', w.op(f'stablehlo.sqrt {second} : {type_}'), kept[4], type_)
    return first, second, w.binary('divide', first, below, type_)


def network(layers, width, batch, mixed):
    """A train step of a chain of square layers: parameters, (copies in float32,) two moments, examples; the first are donated."""
    low = 'bf16' if mixed else 'f32'
    full, weight, rows = f'tensor<{width}x{width}xf32>', f'tensor<{width}x{width}x{low}>', f'tensor<{batch}x{width}x{low}>'
    kinds = [('params', weight)] + ([('opt_state/master', full)] if mixed else []) + [('opt_state/mu', full), ('opt_state/nu', full)]
    names = [(f'{kind}/layer{i}', type_) for kind, type_ in kinds for i in range(layers)]
    arguments = ', '.join(f'%arg{i}: {type_} {{tf.aliasing_output = {i} : i32}} loc("{name}")' for i, (name, type_) in enumerate(names))
    w = Writer()
    value, kept = f'%arg{len(names)}', []
    for i in range(layers):
        kept.append(value)
        zero = w.constant('0.0e+00', rows)
        value = w.binary('maximum', w.dot(value, f'%arg{i}', (1, 0), (rows, weight), rows), zero, rows)
    gradients = [None] * layers
    for i in reversed(range(layers)):
        gradients[i] = w.dot(kept[i], value, (0, 0), (rows, rows), weight)
        if i:
            value = w.dot(value, f'%arg{i}', (1, 1), (rows, weight), rows)
    results = {kind: [] for kind, _ in kinds}
    for i in range(layers):
        state = {kind: f'%arg{k * layers + i}' for k, (kind, _) in enumerate(kinds)}
        gradient = w.op(f'stablehlo.convert {gradients[i]} : ({weight}) -> {full}') if mixed else gradients[i]
        first, second, step = adam(w, gradient, (state['opt_state/mu'], state['opt_state/nu']), full)
        rate = w.constant('1.0e-03', full)
        new = w.binary('subtract', state['opt_state/master' if mixed else 'params'], w.binary('multiply', step, rate, full), full)
        results['opt_state/mu'].append(first)
        results['opt_state/nu'].append(second)
        if mixed:
            results['opt_state/master'].append(new)
            new = w.op(f'stablehlo.convert {new} : ({full}) -> {weight}')
        results['params'].append(new)
    types = ', '.join(type_ for _, type_ in names)
    return (f'module @step {{\n  func.func public @main({arguments}, %arg{len(names)}: {rows} loc("batch/x")) -> ({types}) {{\n' +
            '\n'.join(w.lines) + '\n    return ' + ', '.join(v for kind, _ in kinds for v in results[kind]) +
            f' : {types}\n  }}\n}}\n')

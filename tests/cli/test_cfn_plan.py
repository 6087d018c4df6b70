#!/usr/bin/env python3
# label: unit
# timeout: 300
"""planner cfn: a plan of single factors that is proved, replays from its file, races the search's; the module as a problem
that `toast solve` and `toast evaluate` take; a bound that no plan of the report is under."""
import json, os, pathlib, subprocess, tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
module = str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models/small/gpt.mlir')
if not os.path.exists(module):
    module += '.gz'
failures = []
# a device so slow that sharding the small model pays
request = {'mesh': {'axes': [{'name': 'data', 'size': 4}, {'name': 'model', 'size': 2}]},
           'device': {'base': 'a100-40', 'backend': 'xla_cpu', 'flops': {'tf32': 100000000000, 'f32': 100000000000}, 'memory_bytes_per_s': 20000000000},
           'planner': 'cfn', 'budget': {'rollouts': 20}, 'seed': 3}


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED', what)


def run(*arguments):
    return subprocess.run([toast, *arguments], capture_output=True, text=True, timeout=250)


with tempfile.TemporaryDirectory() as scratch:
    pathlib.Path(f'{scratch}/request.json').write_text(json.dumps(request))
    for threads in ('1', '2'):
        r = run('plan', module, '--request', f'{scratch}/request.json', '--no-baselines', '--threads', threads, '--quiet', '--proof',
                '--outputs', 'plan,report,problem,local', '-o', f'{scratch}/t{threads}')
        check(r.returncode == 0, f'toast plan --planner cfn: {r.returncode} {r.stderr}')
    for name in ('plan.json', 'report.json', 'problem.json', 'local.mlir'):
        one, two = (pathlib.Path(f'{scratch}/t{t}/{name}').read_bytes() for t in '12')
        check(one == two, f'{name} has the same bytes with 1 and 2 threads')
    plan = json.loads(pathlib.Path(f'{scratch}/t1/plan.json').read_text())
    report = json.loads(pathlib.Path(f'{scratch}/t1/report.json').read_text())
    check(plan['found_by'] in ('cfn', 'polish of cfn'), f'a search of 20 rollouts without experts loses to the network: {plan["found_by"]}')
    check(len(plan['factors']) > 10 and not plan['decisions'], 'the plan is a list of factors')
    check(report['proof']['status'] == 'equal', f'proof: {report["proof"]}')
    check('cfn' in [b['name'] for b in report['baselines']], 'the network\'s plan is in the table of plans')
    person = pathlib.Path(f'{scratch}/t1/report.txt').read_text()
    check(report['collectives'] and 'a pin' not in person,
          'collectives of a plan of factors are not put down to pins, of which there are none')
    choices = {c['choice']: c for c in report['choices']}
    check(choices and sum(c['factors'] for c in choices.values()) == sum(len(f['axes']) for f in plan['factors']),
          'every factor is part of a choice')
    check(all(0 < c['factors'] <= c['of'] for c in choices.values()), f'no more factors than places: {choices}')
    check(all(c['decision'] is None and c['because'] in choices for c in report['collectives']),
          'every collective is put down to a choice')
    check(max(c['worth_ps'] for c in choices.values()) > 0 and list(choices)[0] in person, 'and the text says what they are worth')
    bound = report['bound']
    check(bound and bound['network'] == 'admissible' and 0 < bound['value_ps'], f'a bound is given: {bound}')
    fitting = [b['step_ps'] for b in report['baselines'] if b['fits']]
    check(bound and bound['value_ps'] <= min(fitting + [report['summary']['step_ps']]), 'no plan is under the bound')

    again = run('lower', module, '--plan', f'{scratch}/t1/plan.json', '--form', 'local', '-o', f'{scratch}/again.mlir')
    check(again.returncode == 0, f'toast lower: {again.stderr}')
    check(again.returncode == 0 and pathlib.Path(f'{scratch}/again.mlir').read_bytes() ==
          pathlib.Path(f'{scratch}/t1/local.mlir').read_bytes(), 'the plan file gives the module again')

    solved = run('solve', f'{scratch}/t1/problem.json', '--units', '200', '--threads', '1')
    check(solved.returncode == 0, f'toast solve problem.json: {solved.stderr}')
    pathlib.Path(f'{scratch}/answer').write_text(solved.stdout)
    evaluated = run('evaluate', f'{scratch}/t1/problem.json', '--solution', f'{scratch}/answer')
    check(evaluated.returncode == 0 and 'feasible' in evaluated.stdout, f'toast evaluate: {evaluated.stdout} {evaluated.stderr}')

print(f'{len(failures)} failures')
raise SystemExit(1 if failures else 0)

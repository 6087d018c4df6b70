#!/usr/bin/env python3
# label: unit
# timeout: 60
"""The quiz of CONTRIBUTING.md: twenty questions, as many answers, and every file of an answer exists and can be found in
ARCHITECTURE.md, by its path or by its name under its folder's heading."""
import pathlib, re, sys

root = pathlib.Path(__file__).resolve().parents[2]
quiz = re.search(r'^## Quiz\n(.*)', (root / 'CONTRIBUTING.md').read_text(), re.S | re.M).group(1)
questions, answers = re.split(r'^### Answers\n', quiz, flags=re.M)
page = (root / 'ARCHITECTURE.md').read_text()
problems = []


def numbered(text):
    return {int(number): rest for number, rest in re.findall(r'^(\d+)\. (.*(?:\n {3,}.*)*)', text, re.M)}


def findable(path):
    if f'`{path}`' in page:
        return True
    folder, name = str(pathlib.PurePosixPath(path).parent), pathlib.PurePosixPath(path).name
    part = re.search(rf'^### {re.escape(folder)}/\n(.*?)(?=^### |\Z)', page, re.S | re.M)
    return bool(part and f'`{name}`' in part.group(1))


asked, told = numbered(questions), numbered(answers)
if sorted(asked) != list(range(1, 21)) or sorted(told) != list(range(1, 21)):
    problems.append(f'{len(asked)} questions, {len(told)} answers; twenty of each are wanted')
for number, answer in sorted(told.items()):
    files = re.findall(r'`([\w./-]+)`', answer)
    if not files:
        problems.append(f'answer {number} names no file')
    for path in files:
        if not (root / path).exists():
            problems.append(f'answer {number}: no file {path}')
        elif not findable(path):
            problems.append(f'answer {number}: {path} cannot be found in ARCHITECTURE.md')
print('\n'.join(problems) or 'twenty questions, twenty answers')
sys.exit(bool(problems))

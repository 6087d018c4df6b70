#!/usr/bin/env python3
# label: unit
# timeout: 60
"""Every reference resolves: files that are named are in the clone, sections that are quoted or numbered are in the file that is
named with them, and what is cited of a paper is listed in docs/design/papers.md. All text in the clone is looked at."""
import fnmatch, io, pathlib, re, subprocess, sys, tokenize

root = pathlib.Path(__file__).resolve().parents[2]
PAPERS = 'docs/design/papers.md'
TEXT = ('.c', '.h', '.lua', '.def', '.md', '.py', '.sh', '.yaml', '.yml', '.js', '.css', '.txt', '.cmake', '.conf', '')
SOURCE = r'(?:c|h|lua|def)'                       # what a comment may name without a folder
FILE = r'(?:c|h|lua|def|py|sh|md|yaml|json|txt|css|js|mlir|gz|cmake|toml|png)'
NUMBER = r'\d+(?:\.\d+)*[a-z]?'
LIST = rf'{NUMBER}(?:(?:,| and| to|, and) {NUMBER}(?![\w%/]))*'
MONTHS = 'January February March April May June July August September October November December'.split()


def listing():
    out = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=root, capture_output=True,
                         text=True, check=True).stdout.split('\n')
    return sorted(name for name in set(filter(None, out)) if (root / name).is_file())


tracked = listing()
names = set(tracked)
aliases = {}
basenames = {pathlib.PurePosixPath(name).name for name in tracked}


def texts():
    for name in tracked:
        if name.startswith(('tests/fuzz/corpus/', 'tests/models/')) and not name.endswith('.md'):
            continue   # data
        if pathlib.PurePosixPath(name).suffix in TEXT:
            try:
                yield name, (root / name).read_text()
            except UnicodeDecodeError:
                continue


def prose(name, text):
    """(first line, paragraph) of what people read: all of a document, comments and docstrings of a program. Code between keeps
    its line breaks, so that line numbers hold."""
    if name.endswith('.md'):
        text = re.sub(r'^```.*?^```', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text, flags=re.S | re.M)
        for found in re.finditer(r'^.*\S.*\n?(?:(?![ \t]*(?:[-*|]|\d+\.) ).*\S.*\n?)*', text, flags=re.M):
            yield text.count('\n', 0, found.start()) + 1, found.group(0)
        return
    if name.endswith('.py') or text.startswith('#!/usr/bin/env python'):
        yield from python_prose(text)
        return
    if name.endswith(('.c', '.h', '.def', '.css', '.js')):
        pattern = r'/\*.*?\*/|(?:^[ \t]*//.*\n)+'
    elif name.endswith('.lua'):
        pattern = r'(?:^[ \t]*--.*\n)+|--.*'
    else:
        pattern = r'(?:^[ \t]*#.*\n)+|  # .*'
    for found in re.finditer(pattern, text, flags=re.S | re.M if '/\\*' in pattern else re.M):
        body, line = found.group(0), text.count('\n', 0, found.start()) + 1
        for part in re.split(r'(\n[ \t*#-]*\n)', body):
            if part.strip():
                yield line, part
            line += part.count('\n')


def python_prose(text):
    """comments, consecutive ones joined, and docstrings"""
    comments, last = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if comments and comments[-1][0] + comments[-1][1].count('\n') == token.start[0]:
                comments[-1][1] += token.string + '\n'
            else:
                comments.append([token.start[0], token.string + '\n'])
        elif token.type == tokenize.STRING and last in (None, tokenize.NEWLINE, tokenize.INDENT):
            yield token.start[0], token.string
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
            last = token.type
    yield from comments


def plain(part):
    """one line, without comment marks"""
    part = re.sub(r'(?m)^[ \t]*(?:/\*+|\*+/?|//+|#+(?= )|--+(?= ))?[ \t]?', ' ', part)
    return ' '.join(part.replace('*/', ' ').split())


def headings(name):
    text = re.sub(r'^```.*?^```', '', (root / name).read_text(), flags=re.S | re.M)
    return [re.sub(r'[`*]', '', h).strip() for h in re.findall(r'^#+ +(.+)$', text, flags=re.M)]


def anchor(heading):
    return re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')


def resolve(name, reference):
    """a path from the root or from the file's own folder -> path in the clone, or None"""
    for base in (pathlib.PurePosixPath('.'), pathlib.PurePosixPath(name).parent):
        parts = []
        for piece in (base / reference).parts:
            if piece == '..':
                if not parts:
                    break
                parts.pop()
            elif piece != '.':
                parts.append(piece)
        path = '/'.join(parts)
        if path in names or ('*' in path and fnmatch.filter(tracked, path)):
            return path
    return None


def papers():
    """what may be cited: key -> {'section': numbers, 'figure': ..}; and authors by surname and year"""
    page = (root / PAPERS).read_text()
    cited, authors = {}, set()
    aliases.clear()
    for part in re.split(r'^## ', page, flags=re.M)[1:]:
        title, body = part.split('\n', 1)
        key = title.strip()
        aliases[key] = [key] + re.findall(r'^Also: (.+)$', body, flags=re.M)
        cited[key] = {kind: set() for kind in ('section', 'figure', 'equation', 'algorithm', 'table')}
        for kind in cited[key]:
            for line in re.findall(rf'^{kind}s: (.+)$', body, flags=re.M | re.I):
                cited[key][kind].update(re.findall(NUMBER + r'(?:\.\d+)*', line))
    for entry in re.split(r'\n\n|\n(?=- )', page):
        for year in re.findall(r'\b(?:19|20)\d\d\b', entry):
            authors.update((surname, year) for surname in re.findall(r'\b[A-Z]\w+', entry))
    return cited, authors


def spread(numbers):
    """'3.1 to 3.6, 4.4' -> its members"""
    out = []
    pieces = re.split(r'(?:,| and|, and) ', numbers)
    for piece in pieces:
        ends = piece.split(' to ')
        if len(ends) == 2 and re.fullmatch(NUMBER, ends[0]) and re.fullmatch(NUMBER, ends[1]):
            head, first = ends[0].rpartition('.')[0], ends[0].rpartition('.')[2]
            last = ends[1].rpartition('.')[2]
            if first.isdigit() and last.isdigit() and head == ends[1].rpartition('.')[0]:
                out += [f'{head}.{n}' if head else str(n) for n in range(int(first), int(last) + 1)]
                continue
        out += ends
    return out


def check_files(name, line, part, problems):
    bare = re.sub(r'\[[^\]]*\]\([^)]*\)', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), part)   # links are checked below
    for found in re.finditer(r'(?<![\w/.:<>{}*$-])[\w*][\w./*-]*\.md\b', bare):
        if not resolve(name, found.group(0)):
            problems.append((name, line + part.count('\n', 0, found.start()), f'no file {found.group(0)}'))
    if name.endswith('.md'):
        for found in re.finditer(r'\]\(([^)#\s]*)(?:#([^)\s]+))?\)', part):
            path, mark = found.groups()
            where = line + part.count('\n', 0, found.start())
            if re.match(r'\w+:', path or ''):
                continue
            target = resolve(name, path) if path else name
            if not target and not (root / pathlib.PurePosixPath(name).parent / path).is_dir():
                problems.append((name, where, f'no file {path}'))
            elif mark and target.endswith('.md') and mark not in map(anchor, headings(target)):
                problems.append((name, where, f'no heading #{mark} in {target}'))
        for found in re.finditer(rf'`([\w.*-]+(?:/[\w.*-]+)+\.{FILE})`', part):
            if not resolve(name, found.group(1)) and not found.group(1).startswith(('build/', 'plan/')):
                problems.append((name, line + part.count('\n', 0, found.start()), f'no file {found.group(1)}'))
    for found in re.finditer(rf'(?<![\w/.:<>{{}}*$"\'-])([\w-]+(?:/[\w-]+)*\.{SOURCE})\b(?![\w(.]|\w)', part):
        reference = found.group(1)
        if '/' in reference and not resolve(name, reference) or '/' not in reference and reference not in basenames:
            problems.append((name, line + part.count('\n', 0, found.start()), f'no file {reference}'))


def check_sections(name, line, part, cited, problems):
    text = plain(part)
    for found in re.finditer(r'([\w./-]+\.md)`?\)?, "([^"]+)"', text):
        target = resolve(name, found.group(1))
        if target and found.group(2) not in headings(target):
            problems.append((name, line, f'no heading "{found.group(2)}" in {target}'))
    for found in re.finditer(r'"([^"]+)" in ([\w./-]+\.md)', text):
        target = resolve(name, found.group(2))
        have = {re.sub(r'^\d+\. ', '', h).lower() for h in headings(target)} if target else set()
        if target and found.group(1).lower() not in have:
            problems.append((name, line, f'no heading "{found.group(1)}" in {target}'))
    for found in re.finditer(rf'\b(section|figure|equation|algorithm)s? \(?({LIST})', text, flags=re.I):
        kind, numbers = found.group(1).lower(), spread(found.group(2))
        before = text[:found.start()]
        near = re.search(r'([\w./-]+\.md)`?(?:\]\([^)]*\))?,? $', before)
        if near:
            target = resolve(name, near.group(1))
            for number in numbers if target else []:
                if not any(re.match(rf'{re.escape(number)}\.? ', h) for h in headings(target)):
                    problems.append((name, line, f'no section {number} in {target}'))
            continue
        if re.search(r'(?:RFC \d+|WHATWG \w+|W3C [\w ]+),? $', before):
            continue   # a standard's own numbers
        check_paper(name, line, text, kind, numbers, cited, problems)
    for found in re.finditer(r'\bpaper(?:\'s)?,? \(?(\d\.\d(?:(?:,| to| and|, and) \d\.\d)*)', text):
        check_paper(name, line, text, 'section', spread(found.group(1)), cited, problems)


def check_paper(name, line, text, kind, numbers, cited, problems):
    keys = [key for key in cited if any(cited[key].values()) and any(re.search(rf'\b{re.escape(a)}\b', text) for a in aliases[key])]
    if re.search(r'\bpapers?\b', text):
        keys.append(next(iter(cited)))           # 'the paper' is the first one listed
    if name == PAPERS or name == 'tests/house/test_references.py':
        return
    if not keys:
        problems.append((name, line, f'{kind} {", ".join(numbers)} of what?'))
        return
    for number in numbers:
        if not any(number in cited[key][kind] for key in keys):
            problems.append((name, line, f'{kind} {number} is not listed for {" or ".join(keys)} in {PAPERS}'))


def check_authors(name, line, part, authors, problems):
    person, initial = r'(?:[A-Z]\. )*[A-Z][a-z]+', r'[A-Z]\. [A-Z][a-z]+'
    several = rf'{person}(?:(?:, {person})+,? and {person}|(?:, {person})+| and {person}| et al\.?)'
    for found in re.finditer(rf'\b((?:{several}|{initial}),? ((?:19|20)\d\d))\b', plain(part)):
        surname = re.sub(r'^(?:[A-Z]\. )*', '', found.group(1)).split()[0].rstrip(',')
        if surname not in MONTHS and (surname, found.group(2)) not in authors:
            problems.append((name, line, f'{found.group(1)} is not in {PAPERS}'))


def main():
    problems, cited_and_authors = [], papers()
    for name, text in texts():
        for line, part in prose(name, text):
            check_files(name, line, part, problems)
            check_sections(name, line, part, cited_and_authors[0], problems)
            check_authors(name, line, part, cited_and_authors[1], problems)
    for name, line, what in sorted(set(problems)):
        print(f'{name}:{line}: {what}')
    print(f'{len(set(problems))} references do not resolve' if problems else 'every reference resolves')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())

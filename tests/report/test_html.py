#!/usr/bin/env python3
# label: unit
# timeout: 120
"""report.html: one well-formed page that needs nothing else, under 2 MB, with every client's text escaped and a table to every picture."""
import base64, html.parser, json, os, pathlib, re, subprocess, sys, tempfile
import xml.etree.ElementTree as xml

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
models = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models'
EVIL = '<script>alert(1)</script>"\'&\x7f'
VOID = {'meta', 'link', 'br', 'hr', 'img', 'input'}
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED', what)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.problems, self.links, self.text = [], [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name.startswith('on') or name == 'style':
                self.problems.append(f'attribute {name} of <{tag}>')
            if name in ('src', 'href'):
                self.links.append(value)
            if name == 'id':
                self.ids.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f'</{tag}> closes nothing')

    def handle_data(self, data):
        if self.open[-1:] != ['style']:
            self.text.append(data)


def plan(model, name, *arguments):
    out = f'{scratch}/{name}'
    run = subprocess.run([toast, 'plan', str(models / model), '--device', 'a100-40', '--quiet', '--outputs', 'report', '-o', out,
                          *arguments], capture_output=True, text=True)
    check(run.returncode in (0, 3), f'{name}: {run.returncode} {run.stderr[-300:]}')
    return pathlib.Path(out, 'report.html').read_bytes()


def read(name, page):
    check(len(page) < 2_000_000, f'{name}: {len(page)} bytes')
    p = Page()
    p.feed(page.decode())
    check(not p.problems and not p.open, f'{name}: {p.problems[:5]} {p.open[-3:]}')
    check(not {'script', 'iframe', 'object', 'link', 'img', 'form'} & set(p.tags), f'{name}: {set(p.tags)}')
    check(all(l.startswith(('#', 'data:image/svg+xml;base64,')) for l in p.links), f'{name}: {[l[:80] for l in p.links]}')
    check(len(p.ids) == len(set(p.ids)), f'{name}: an id twice')
    check('@import' not in page.decode() and 'url(' not in page.decode(), f'{name}: style that loads something')
    pictures = re.findall(r'<figure.*?</figure>', page.decode(), re.S)
    check(len(pictures) >= 5 and all('<table>' in f and 'role="img"' in f for f in pictures), f'{name}: pictures and tables')
    saved = [base64.b64decode(l.split(',', 1)[1]) for l in p.links if l.startswith('data:')]
    for svg in saved:
        xml.fromstring(svg)   # saved pictures are XML by themselves
    check(len(saved) == len(pictures), f'{name}: every picture can be saved')
    return p


def bars_of(page, figure):
    """[(note, width, cut)] of a picture's bars"""
    svg = re.search(rf'<figure id="{figure}".*?(<svg.*?</svg>)', page.decode(), re.S).group(1)
    rows = re.split(r'<rect class="trough"', svg)
    out = []
    for before, row in zip(rows, rows[1:]):
        wide = sum(float(w) for w in re.findall(r'<rect class="(?:pale )?c\d" x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="12"/>', row))
        out.append((re.findall(r'text-anchor="end">([^<]*)<', before)[-1], wide, 'class="cut"' in row))
    return out


with tempfile.TemporaryDirectory() as scratch:
    page = plan('small/gns.mlir', 'slow', '--mesh', 'data=16', '--rollouts', '100')
    text, bars = ' '.join(read('slow', page).text), bars_of(page, 'against')   # experts over four times as slow must not look like the plan
    check(len(bars) >= 5 and any(cut for _, _, cut in bars) and 'A bar with a cut' in text, f'against: {bars}')
    full = max(wide for _, wide, _ in bars)
    check(not bars[0][2] and bars[0][1] <= 0.81 * full and all(cut == (wide == full) for _, wide, cut in bars), f'against: {bars}')
    page = plan('small/t2b.mlir', 'plain', '--mesh', 'data=4,model=2', '--rollouts', '200')
    p = read('plain', page)
    check('class="cut"' not in page.decode() and 'A bar with a cut' not in ' '.join(p.text), 'plain: a cut where all bars end')
    for wanted in ('against', 'time', 'memory', 'peak', 'shards', 'decisions', 'search', 'mesh', 'communication', 'boundary'):
        check(wanted in p.ids, f'section {wanted}')
    text = ' '.join(p.text)
    check('PartitionSpec(' in text and '/embed' in text, 'arguments and their specs')
    report = json.loads(pathlib.Path(f'{scratch}/plain/report.json').read_text())
    check(all(b['name'] in text for b in report['baselines']), 'every baseline')
    why = re.search(r'<section[^>]*id="whole".*?</section>', page.decode(), re.S)[0]
    named = [name for cell in re.findall(r'data-column="Dimension">([^<]*)<', why) for name in cell.split(', ')]   # equal ones share a row
    check(sorted(named) == sorted(row['dimension'] for row in report['whole']) and 'Of the peak' in why and 'Of the step' in why,
          f'why not split, with what its figures are: {why[:400]}')
    curve = re.search(r'<figure[^>]*id="search".*?</svg>', page.decode(), re.S)[0]
    check(curve.rindex('class="rule') < curve.index('class="halo"'), 'a level goes through the name of another')
    check(all(d['decision'] in text for d in report['decisions']), 'every decision')

    # hostile names of arguments and of places in the module
    count = 63
    request = {'module': {'inline': ''}, 'mesh': {'axes': [{'name': 'data', 'size': 8}]}, 'device': 'a100-40',
               'budget': {'rollouts': 50}, 'argument_names': [f'{EVIL}{i}' for i in range(count)], 'outputs': ['report']}
    pathlib.Path(f'{scratch}/request.json').write_text(json.dumps(request))
    source = (models / 'small/t2b.mlir').read_text()
    evil = ('module @m {\n  func.func public @main(%arg0: tensor<64x32xf32> loc("<script>alert(2)</script>"), %arg1: tensor<32x64xf32>) '
            '-> (tensor<64x64xf32>) {\n    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x32xf32>, '
            'tensor<32x64xf32>) -> tensor<64x64xf32> loc("<img src=x onerror=alert(3)>":1:1)\n    return %0 : tensor<64x64xf32>\n  }\n}\n')
    pathlib.Path(f'{scratch}/evil.mlir').write_text(evil)
    for name, module in (('names', models / 'small/t2b.mlir'), ('places', f'{scratch}/evil.mlir')):
        flags = ['--request', f'{scratch}/request.json'] if name == 'names' else ['--mesh', 'data=8', '--rollouts', '20']
        page = plan(module, name, *flags)
        p = read(name, page)
        check(b'<script' not in page and b'<img' not in page, f'{name}: markup of the client')
        check('<script>alert(' in ' '.join(p.text) or name == 'places', f'{name}: the text is there, escaped')

    # a large module stays under the limit; many devices are drawn short; nothing fits
    read('large', plan('gns.mlir.gz', 'large', '--mesh', 'pod=4,data=16,model=4', '--rollouts', '20'))
    page = plan('small/t2b.mlir', 'tight', '--mesh', 'data=2', '--rollouts', '50', '--memory-limit', '1000000')
    check('Nothing fits' in ' '.join(read('tight', page).text), 'nothing fits is said')
print('failures:', len(failures))
sys.exit(1 if failures else 0)

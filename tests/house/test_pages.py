#!/usr/bin/env python3
# label: unit
"""The tables of docs/performance.md and docs/reliability.md are what `bench/all --page` writes from bench/results.json; every figure
there has its command and date; the links of the pages and of their history lead to something. The check itself is checked: with one
figure altered it must see a difference."""
import copy
import datetime
import importlib.machinery
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("bench_all", str(ROOT / "bench/all"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_all", loader))
sys.modules["bench_all"] = bench
sys.dont_write_bytecode = True
loader.exec_module(bench)

results = bench.load()
problems = [f"{page} is not what bench/all --page writes" for page in bench.pages(results, check=True)]
for r in results:
    if set(r) != {"subject", "row", "figures", "command", "date", "machine"} or not r["figures"] or not r["command"]:
        problems.append(f"{r['subject']}, {r['row']}: incomplete")
    elif datetime.date.fromisoformat(r["date"]).year < 2026 or not all(isinstance(x, str) for x in r["figures"].values()):
        problems.append(f"{r['subject']}, {r['row']}: date or figures")
for name in set(bench.SUBJECTS) - {r["subject"] for r in results}:
    problems.append(f"{name} has no figure")
altered = copy.deepcopy(results)
altered[0]["figures"]["altered"] = "1"
if not bench.pages(altered, check=True):
    problems.append("an altered figure changes no page")
for page in (*bench.PAGES, *(ROOT / "docs/history").glob("*.md")):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target and not (page.parent / target).exists():
            problems.append(f"{page.relative_to(ROOT)}: no {target}")
print("\n".join(problems) if problems else f"{len(results)} results of {len(bench.SUBJECTS)} subjects")
sys.exit(1 if problems else 0)

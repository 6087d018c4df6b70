#!/usr/bin/env python3
# label: unit
# timeout: 60
"""docs/troubleshooting.md has every error code of base/error.h once, and no other; each row says a cause and what to do. Links among README.md
and docs/ lead to files and headings that are there. What the report page calls by name has a section in docs/glossary.md."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
problems = []


def anchor(heading):
    """as GitHub makes it"""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower())
    return words.replace(" ", "-")


def prose(path):
    return re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.S | re.M)


def codes():
    defined = re.findall(r'X\(\w+, "(\w+)", \d+, \d+\)', (ROOT / "base/error.h").read_text())
    tables = (ROOT / "docs/troubleshooting.md").read_text().split("## Python")[0]
    listed = []
    for row in re.findall(r"^\| (.*) \|$", tables, re.M):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)]
        if not re.fullmatch(r"`\w+`(, `\w+`)*", cells[0]):
            continue
        listed += re.findall(r"`(\w+)`", cells[0])
        if len(cells) != 3 or not all(cells):
            problems.append(f"docs/troubleshooting.md: {cells[0]} lacks a cause or what to do")
    wanted = set(defined) - {"ok"}
    problems.extend(f"docs/troubleshooting.md lacks the code {code}" for code in sorted(wanted - set(listed)))
    problems.extend(f"docs/troubleshooting.md has {code}, which is no code" for code in sorted(set(listed) - wanted))
    problems.extend(f"docs/troubleshooting.md has {code} twice" for code in sorted({c for c in listed if listed.count(c) > 1}))
    return len(listed)


def links():
    count = 0
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target, part in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", prose(page)):
            count += 1
            if "://" in target:
                continue
            path = page.parent / target if target else page
            if not path.exists():
                problems.append(f"{page.relative_to(ROOT)}: no {target}")
            elif part and part not in {anchor(line) for line in re.findall(r"^#+ (.*)$", prose(path), re.M)}:
                problems.append(f"{page.relative_to(ROOT)}: {target} has no heading #{part}")
    return count


def glossary():
    terms = re.findall(r"^## (.*)$", (ROOT / "docs/glossary.md").read_text(), re.M)
    report = (ROOT / "docs/report.md").read_text()
    linked = re.findall(r"glossary\.md#([\w-]+)", report)
    if len(set(linked)) < 10:
        problems.append(f"docs/report.md links {len(set(linked))} terms of the glossary only")
    for term in ("Mesh", "Axis", "Named dimension", "Conflict", "Factor", "Resharding", "Exposed", "Hidden", "Annotated", "Manual", "Local",
                 "Segment", "ParallelBlock"):
        if term not in terms:
            problems.append(f"docs/glossary.md lacks {term}")
    if len(set(terms)) != len(terms):
        problems.append("docs/glossary.md has a term twice")
    return len(terms)


said = f"{codes()} codes, {links()} links, {glossary()} terms"
print("\n".join(problems) if problems else said)
sys.exit(1 if problems else 0)

"""Reads the log of XLA:GPU's latency hiding scheduler (TF_CPP_VMODULE as compilers.py sets it).

The scheduler prints, for every computation that it orders, its total and what is waited for by kind of collective ("cycles";
with the analytical estimator one is a microsecond), before and after; the estimator prints each collective's time. What is
taken is what stands after scheduling: of the entry, and of each loop's body as often as it runs (modules.trips); where it is not
said how often, the longest computation.

Never a measurement: an estimate over tables of an H100, greedy in its order; under 10 % it says little.
"""
import collections
import re

COLLECTIVE = re.compile(r"GetLatencyBetween: Computed collective time for ([\w.\-]+): ([\d.e+\-]+) us")
FIGURE = re.compile(r"(Total cycles|Total wasted cycles|Wasted cycles for [\w\- ]+): ([\d.e+]+)")
KIND = re.compile(r"(-start)?[.\d]*$")


def message(line):
    """a log line without its prefix and the pass's name"""
    return line.split("] ", 1)[-1].replace("[latency-hiding-scheduler] ", "").strip()


def statistics(lines):
    """({computation: {figure: us}} of the schedules after the pass, {collective: us})"""
    computations, times, after, here = {}, {}, False, None
    for line in lines:
        text = message(line)
        if found := COLLECTIVE.match(text):
            times[found[1]] = float(found[2])
        elif text.startswith("Statistics "):
            after = "after" in text
        elif text.startswith("For computation: "):
            here = computations.setdefault(text.split(": ")[1].split(",")[0], {}) if after else None
        elif here is not None and (found := FIGURE.match(text)):
            here[found[1]] = float(found[2])
    return computations, times


def read(lines, trips=None):
    """{scheduled_us, exposed_us, exposed_us_by_kind, communication_us, communication_us_by_kind, scheduled}; scheduled_us is None
    where XLA does not schedule the entry by latency: no collectives there. scheduled: the computations that were. Of a loop's
    collectives communication_us has one trip"""
    computations, times = statistics(lines)
    if trips is None and computations:
        trips = {max(computations, key=lambda name: computations[name].get("Total cycles", 0)): 1}
    figures = collections.Counter()
    for name in sorted(set(computations).intersection(trips or ())):
        for figure, us in computations[name].items():
            figures[figure] += us * trips[name]
    entry = next(iter(trips or ()), None)   # the first one
    kinds = collections.Counter()
    for name, us in times.items():
        kinds[KIND.sub("", name).replace("-", "_")] += us
    exposed = {figure.split(" for ")[1].replace("-", "_").replace(" ", "_"): us for figure, us in figures.items()
               if " for " in figure and us}
    return {"scheduled_us": figures["Total cycles"] if entry in computations else None, "exposed_us": figures["Total wasted cycles"] or 0.0,
            "exposed_us_by_kind": exposed, "communication_us": sum(kinds.values()), "communication_us_by_kind": dict(kinds),
            "scheduled": sorted(computations)}

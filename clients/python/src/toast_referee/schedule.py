"""Reads the log of XLA:GPU's latency hiding scheduler (TF_CPP_VMODULE as compilers.py sets it).

The scheduler prints, for every computation that it orders, its total and what is waited for by kind of collective ("cycles";
with the analytical estimator one is a microsecond), before and after; the estimator prints each collective's time. What is
taken is the longest computation after scheduling: the entry, where nothing loops.

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


def read(lines):
    """{scheduled_us, exposed_us, exposed_us_by_kind, communication_us, communication_us_by_kind}; scheduled_us is None where
    XLA schedules nothing by latency: a program without collectives"""
    computations, times = statistics(lines)
    if not computations:
        return {"scheduled_us": None, "exposed_us": 0.0, "exposed_us_by_kind": {}, "communication_us": 0.0,
                "communication_us_by_kind": {}}
    longest = max(computations.values(), key=lambda row: row.get("Total cycles", 0))
    kinds = collections.Counter()
    for name, us in times.items():
        kinds[KIND.sub("", name).replace("-", "_")] += us
    exposed = {figure.split(" for ")[1].replace("-", "_").replace(" ", "_"): us for figure, us in longest.items()
               if " for " in figure and us}
    return {"scheduled_us": longest["Total cycles"], "exposed_us": longest.get("Total wasted cycles", 0.0), "exposed_us_by_kind": exposed,
            "communication_us": sum(kinds.values()), "communication_us_by_kind": dict(kinds)}

"""Price against compiler over plans of one module on one mesh.

A row is {"plan": name, "price": what `toast price --json` says, "compiler": what compilers.compile_module says}. Kinds of
question: is the order right (Kendall's tau), what does following the price lose (loss), how far off is each term (ratio,
price / compiler). Pairs that the compiler puts within 5 % of each other say nothing about an order and are left out.

Pure: no files, no processes.
"""
import math
import statistics

CLOSE = 0.05
SMALL_US = 100.0   # a term below this in the compiler's estimate makes no ratio

TERMS = {   # term: (ours in picoseconds of a price, theirs in microseconds)
    "step": (lambda price: price["step_ps"], lambda said: said["step_us"]),
    "matmul": (lambda price: price["matmul_ps"], lambda said: said["matmul_us"]),
    "other": (lambda price: price["compute_ps"] - price["matmul_ps"], lambda said: said["other_us"] + said["unpriced_us"]),
    "collectives": (lambda price: price["communication_ps"], lambda said: said["communication_us"]),
    "exposed": (lambda price: price["exposed_ps"], lambda said: said["exposed_us"]),
}


def kendall(ours, theirs, close=CLOSE):
    """(tau over the pairs that `theirs` puts more than `close` apart or None, number of such pairs)"""
    good = bad = 0
    for i in range(len(ours)):
        for j in range(i):
            if abs(theirs[i] - theirs[j]) > close * min(theirs[i], theirs[j]):
                product = (ours[i] - ours[j]) * (theirs[i] - theirs[j])
                good, bad = good + (product > 0), bad + (product < 0)
    return ((good - bad) / (good + bad) if good + bad else None), good + bad


def timed(rows):
    return [row for row in rows if "step_us" in row["compiler"]]


def order(rows):
    """{tau, pairs, loss, chosen, best} of steps; loss: how much slower, by the compiler, the plan of the lowest price is"""
    rows = timed(rows)
    if not rows:
        return None
    ours = [TERMS["step"][0](row["price"]) for row in rows]
    theirs = [TERMS["step"][1](row["compiler"]) for row in rows]
    tau, pairs = kendall(ours, theirs)
    chosen, best = ours.index(min(ours)), theirs.index(min(theirs))
    return {"tau": tau, "pairs": pairs, "loss": theirs[chosen] / theirs[best] - 1, "chosen": rows[chosen]["plan"],
            "best": rows[best]["plan"]}


def ratios(rows, term):
    """ours / theirs of a term, one for each plan where theirs is large enough to say anything; "peak" of all plans"""
    if term == "peak":
        return [row["price"]["peak_bytes"] / row["compiler"]["peak"] for row in rows]
    ours, theirs = TERMS[term]
    rows = rows if term == "step" else [row for row in rows if "matmul_us" in row["compiler"]]   # what was timed has no terms
    return [ours(row["price"]) / 1e6 / theirs(row["compiler"]) for row in timed(rows) if theirs(row["compiler"]) > SMALL_US]


def median(values):
    return statistics.median(values) if values else math.nan


def within(values, low, high):
    return sum(low <= value <= high for value in values)


def misjudged(rows, limit_bytes):
    """names of plans that the price refuses though the compiler fits them with a tenth to spare"""
    return [row["plan"] for row in rows if not row["price"]["fits"] and row["compiler"]["peak"] < 0.9 * limit_bytes]


def ranked(rows, limit_bytes):
    """rows in the compiler's order: those that fit first, then by step, then by peak"""
    return sorted(rows, key=lambda row: (row["compiler"]["peak"] > limit_bytes, row["compiler"].get("step_us", 0.0), row["compiler"]["peak"]))

"""Interleaved measuring: every side runs one block after the other, round by round, so that what disturbs the machine disturbs all."""

import statistics

BLOCK_NS = 20_000_000


def calls_per_block(side, cold):
    """So many calls that a block lasts; the first calls pay for page faults and are not counted."""
    calls = 1
    side.ask(do="run", calls=1, cold=cold)
    while True:
        answer = side.ask(do="run", calls=calls, cold=cold)
        if "ns" not in answer:
            return 0
        if answer["ns"] >= BLOCK_NS / 2 or calls >= 1 << 20:
            return max(1, round(calls * BLOCK_NS / max(answer["ns"], 1)))
        calls *= 4


def interleaved(sides, blocks, cold=False):
    """Nanoseconds per call of each block, by side; a side that fails has none."""
    calls = {}
    for name, side in sides.items():
        calls[name] = calls_per_block(side, cold)
        side.settle()
    times = {name: [] for name in sides}
    for number in range(blocks):
        order = list(sides) if number % 2 == 0 else list(reversed(sides))
        for name in order:
            answer = sides[name].ask(do="run", calls=calls[name], cold=cold) if calls[name] else {}
            if "ns" in answer:
                times[name].append(answer["ns"] / calls[name])
            sides[name].settle()
    return times


def summary(samples):
    """The median and an interval that covers the true one in about 95 of 100 cases, by order statistics."""
    ordered = sorted(samples)
    reach = round(0.98 * len(ordered) ** 0.5)
    middle = len(ordered) // 2
    return {
        "median_ns": statistics.median(ordered),
        "low_ns": ordered[max(0, middle - reach)],
        "high_ns": ordered[min(len(ordered) - 1, middle + reach)],
    }


def paired_ratio(of, by):
    """How many times longer `of` takes than `by`: the median over rounds, in which both ran one after the other."""
    return statistics.median(a / b for a, b in zip(of, by, strict=False))

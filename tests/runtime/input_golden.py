#!/usr/bin/env python3
"""Writes input_golden.inc: docs/formats/inputs.md a second time, in another language and with exact integers."""
import fractions, random

M = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return z ^ (z >> 31)


def bits(seed, param, index):
    return mix((mix((seed + STEP * (param + 1)) & M) + STEP * (index + 1)) & M)


def odd_fraction(b, k):
    return fractions.Fraction(2 * (b >> (64 - k)) + 1 - (1 << k), 1 << k)


KINDS = {
    "kFloat64": lambda b: odd_fraction(b, 53), "kFloat32": lambda b: odd_fraction(b, 24), "kFloat16": lambda b: odd_fraction(b, 11),
    "kBFloat16": lambda b: odd_fraction(b, 8), "kInt8": lambda b: (b >> 60) - 8, "kInt64": lambda b: (b >> 60) - 8,
    "kUInt8": lambda b: b >> 60, "kBool": lambda b: b >> 63,
}
rng = random.Random(1)
for seed, param, index in [(0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (M, 255, (1 << 47) - 1)] + [
        (rng.getrandbits(64), rng.randrange(256), rng.randrange(1 << 40)) for _ in range(3)]:
    for kind, value in KINDS.items():
        print(f"{{{seed}u, {param}, {index}, {kind}, {float(value(bits(seed, param, index))).hex()}}},")

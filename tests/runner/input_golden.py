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


def in_range(b, low, high):
    return low + b * (high - low + 1) // (1 << 64)


ANY = (0, 0)  # Of no meaning for what is no integer.
KINDS = [
    ("kFloat64", ANY, lambda b: odd_fraction(b, 53)), ("kFloat32", ANY, lambda b: odd_fraction(b, 24)),
    ("kFloat16", ANY, lambda b: odd_fraction(b, 11)), ("kBFloat16", ANY, lambda b: odd_fraction(b, 8)), ("kBool", ANY, lambda b: b >> 63),
] + [(kind, (low, high), lambda b, low=low, high=high: in_range(b, low, high))
     for kind, low, high in [("kInt8", -128, 127), ("kUInt8", 0, 255), ("kInt32", -(1 << 20), (1 << 20) - 1), ("kInt32", 0, 999),
                             ("kInt64", -(1 << 40), (1 << 40) - 1), ("kInt64", -3, 4)]]
rng = random.Random(1)
for seed, param, index in [(0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (M, 255, (1 << 47) - 1)] + [
        (rng.getrandbits(64), rng.randrange(256), rng.randrange(1 << 40)) for _ in range(3)]:
    for kind, (low, high), value in KINDS:
        print(f"{{{seed}u, {param}, {index}, {kind}, {{{low}, {high}}}, {float(value(bits(seed, param, index))).hex()}}},")

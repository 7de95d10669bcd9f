"""The results as Markdown, JSON and a picture."""

import json
import math

TUNED, EXPERT, UNFUSED = "Lathe tuned", "expert", "Lathe unfused"
OURS = (TUNED, "Lathe untuned", "Lathe by Winograd", EXPERT, UNFUSED)


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def peers_of(row):
    return {name: each for name, each in row["sides"].items() if name not in OURS and "median_ns" in each}


def best_peer(row):
    """(name, median) of the fastest one that computes the same; None where nobody does."""
    found = {name: each["median_ns"] for name, each in peers_of(row).items()}
    return min(found.items(), key=lambda item: item[1]) if found else None


def speed_of(row, name, other):
    """How many times faster `name` is than `other`; None where one of them has no time."""
    times = [row["sides"].get(each, {}).get("median_ns") for each in (name, other)]
    return times[1] / times[0] if all(times) else None


def time_text(ns):
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.3g} ns"


def _cell(row, name):
    side = row["sides"].get(name, {})
    if "median_ns" not in side:
        return "-"
    return f"{time_text(side['median_ns'])} {100 * row['limit_ns'] / side['median_ns']:.0f} %"


def _table(rows, names):
    by_expert = any(EXPERT in row["sides"] for row in rows)
    yield "| | " + " | ".join(names) + " | limit | tuned against the best |" + (" against the expert |" if by_expert else "")
    yield "|---|" + "---|" * (len(names) + 2 + by_expert)
    for row in rows:
        cells = [_cell(row, name) for name in names]
        best, tuned = best_peer(row), row["sides"].get("Lathe tuned", {}).get("median_ns")
        ratio = f"{best[1] / tuned:.2f} x {best[0]}" if best and tuned else row.get("why", "-")
        expert = speed_of(row, TUNED, EXPERT)
        last = f" {expert:.2f} x |" if expert else " - |" if by_expert else ""
        yield f"| {row['name']} | " + " | ".join(cells) + f" | {time_text(row['limit_ns'])} {row['roof']} | {ratio} |{last}"


def _group_lines(group, rows, names):
    ratios = [best_peer(row)[1] / row["sides"]["Lathe tuned"]["median_ns"] for row in rows if best_peer(row) and "median_ns" in row["sides"].get("Lathe tuned", {})]
    shares = [row["limit_ns"] / row["sides"]["Lathe tuned"]["median_ns"] for row in rows if "median_ns" in row["sides"].get("Lathe tuned", {})]
    yield f"\n## {group}\n"
    yield f"Geometric mean of {len(ratios)}: {geometric_mean(ratios):.2f} x the best peer of each, {100 * geometric_mean(shares):.0f} % of the limit.\n"
    experts = [ratio for ratio in (speed_of(row, TUNED, EXPERT) for row in rows) if ratio]
    if experts:
        yield f"Of the {len(experts)} with an expert's schedule: {geometric_mean(experts):.2f} x its speed.\n"
    yield from _table(rows, [name for name in names if any(name in row["sides"] for row in rows)])


def _machine_lines(machine):
    yield f"{machine['cpu']}, {machine['threads']} thread(s), {machine['date']}, {machine['version']}. Interleaved; medians of {machine['blocks']} blocks of 20 ms, {machine['cache']}.\n"
    yield "Share: of the smaller of two measured roofs, the multiply-add loop and the copy in the smallest cache that holds the bytes once.\n"
    yield "| Roof of one core | measured |\n|---|---|"
    for each in machine["roofs"]["compute"]:
        rate = f"{each['gops']:.0f} Gop/s" if each["gops"] else "absent"
        yield f"| {each['types']}, {each['instructions']}, {each['bits']} bits | {rate} |"
    for each in machine["roofs"]["copy"]:
        yield f"| copy in {each['level']}, {each['bytes'] >> 10} KiB touched | {each['gb_per_s']:.1f} GB/s |"


def markdown(machine, rows):
    names = list(dict.fromkeys(name for row in rows for name in row["sides"]))
    lines = ["# CPU kernels\n", *_machine_lines(machine)]
    for group in dict.fromkeys(row["group"] for row in rows):
        lines += _group_lines(group, [row for row in rows if row["group"] == group], names)
    wrong = [f"{row['name']}, {name}: {each['wrong']}" for row in rows for name, each in row["sides"].items() if "wrong" in each]
    if wrong:
        lines += ["\n## Results that differ\n", *(f"- {each}" for each in wrong)]
    return "\n".join(lines) + "\n"


def svg(rows):
    """One line of marks per workload: the share of the limit that each side reaches."""
    names = list(dict.fromkeys(name for row in rows for name in row["sides"]))
    hues = {name: f"hsl({360 * i // max(len(names), 1)},65%,45%)" for i, name in enumerate(names)}
    left, width, line = 220, 600, 16
    height = line * (len(rows) + 3)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{height}" font-family="sans-serif" font-size="11">']
    for i, name in enumerate(names):
        parts.append(f'<text x="{left + i * 110}" y="{line - 4}" fill="{hues[name]}">{name}</text>')
    for share in range(0, 101, 20):
        x = left + width * share / 100
        parts.append(f'<line x1="{x}" y1="{line}" x2="{x}" y2="{height - line}" stroke="#ddd"/><text x="{x - 8}" y="{height - 4}">{share} %</text>')
    for i, row in enumerate(rows):
        y = line * (i + 2)
        parts.append(f'<text x="4" y="{y + 4}">{row["name"]}</text>')
        for name, side in row["sides"].items():
            if "median_ns" in side:
                x = left + width * min(1.05, row["limit_ns"] / side["median_ns"])
                parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="{5 if name in OURS else 3.5}" fill="{hues[name]}" fill-opacity="0.8"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def write(folder, machine, rows):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu_kernels.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    (folder / "cpu_kernels.md").write_text(markdown(machine, rows))
    (folder / "cpu_kernels.svg").write_text(svg(rows))

"""The results of run.py as tables of ratios: the best peer's time over tjcore's, so above 1 tjcore is ahead.

    python ratios.py results.json

One table per number of threads. Medians and, since medians of a shared machine say as much about its other users, least times; the best peer is
looked for separately in each. Wrong results never count.
"""

import json
import statistics
import sys

import workloads as W
from report import natural, t, table

OURS = ("tjcore-gcc", "tjcore-clang")


def times(data, group, column, threads, name):
    """(median of the rounds' medians, least time) of one workload, or None."""
    runs = data["bench"][group].get(column, {}).get(threads, [])
    found = [r["results"][name] for r in runs if name in (r.get("results") or {})]
    good = [f for f in found if "median" in f and f.get("ok")]
    return (statistics.median(f["median"] for f in good), min(f["min"] for f in good)) if good else None


def rows(data, threads):
    for group in W.GROUPS:
        if group not in data["bench"]:
            continue
        for name in sorted((n for n, w in W.WORKLOADS.items() if w.group == group), key=natural):
            ours = [times(data, group, column, threads, name) for column in OURS]
            peers = {c: times(data, group, c, threads, name) for c in data["bench"][group] if c not in OURS}
            peers = {c: v for c, v in peers.items() if v}
            if not peers or not any(ours):
                continue
            work = W.WORKLOADS[name]
            row = [name, f"{work.bytes / 1e6:.3g}"]
            for which in (0, 1):
                best = min(peers, key=lambda c, which=which: peers[c][which])
                row += [f"{best} {t(peers[best][which])}", *(f"{peers[best][which] / v[which]:.2f}" if v else "-" for v in ours)]
            yield row


def render(data):
    head = ["workload", "MB", "best peer, median", "gcc", "clang", "best peer, least", "gcc", "clang"]
    return "\n".join(f"### {threads} thread{'s' * (threads > '1')}\n\n{table(head, list(rows(data, threads)))}" for threads in ("1", "2"))


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(render(json.load(file)))

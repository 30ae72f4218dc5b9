"""Simulation of ten million sections and 10,000 tenants, from costs that were measured.

    python -m benches.fleet_simulation --sections 10e6 --tenants 10000

Assumptions: a search goes to one shard, by its routing, on one of two copies; it holds a core for
a time of a log-normal distribution with the measured p50 and p99 on a quiet node. A write costs
what a bulk of one file costs, on both copies. Tenants are asked by Zipf's law; arrivals are
Poisson. Not in it: the network, garbage collection under memory pressure, merges beyond those that
were measured.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from collections.abc import Sequence

from commonplace.evaluation import quantile

Z99 = 2.3263
"""The normal distribution has 99 % below so many standard deviations."""


def service_time(chosen: random.Random, p50: float, p99: float) -> float:
    """Return how long one search holds a core, in seconds."""
    return chosen.lognormvariate(math.log(p50), math.log(p99 / p50) / Z99)


def waits(given: argparse.Namespace, searches: float, writes: float) -> list[float]:
    """Return how long searches take, in seconds, at these rates per second."""
    chosen = random.Random(3)
    # each core is free from a time on; two copies of each shard are on neighbouring nodes
    free = [[0.0] * given.cores for _ in range(given.nodes)]
    for cores in free:
        heapq.heapify(cores)
    ranks = range(1, given.tenants + 1)
    shares = [1 / rank for rank in ranks]
    tenants = chosen.choices(ranks, shares, k=given.events)
    now = 0.0
    spent: list[float] = []
    for tenant in tenants:
        now += chosen.expovariate(searches + writes)
        home = tenant % given.nodes
        copies = (home, (home + 1) % given.nodes)
        if chosen.random() < writes / (searches + writes):
            for node in copies:
                heapq.heapreplace(free[node], max(now, free[node][0]) + given.write)
            continue
        node = min(copies, key=lambda one: free[one][0])
        end = max(now, free[node][0]) + service_time(chosen, given.p50, given.p99)
        heapq.heapreplace(free[node], end)
        spent.append(end - now)
    return spent


def report(given: argparse.Namespace) -> Sequence[str]:
    """Return the lines of the result."""
    copies = 2
    lines = [
        f"{given.sections:,.0f} sections, {given.tenants:,} tenants",
        f"{given.nodes} nodes of {given.cores} cores",
        f"disk {given.sections * given.disk * copies / given.nodes / 1e9:.0f} GB a node",
        f"loading all {given.sections / (given.bulk * given.nodes / copies) / 3600:.1f} h",
    ]
    for searches, writes in ((50, 0), (50, 200), (200, 200), (500, 200)):
        spent = waits(given, searches, writes)
        p50, p99 = (1000 * quantile(spent, share) for share in (0.5, 0.99))
        lines.append(f"{searches} searches/s, {writes} writes/s: p50 {p50:.1f}, p99 {p99:.1f} ms")
    return lines


def main() -> None:
    """Print the simulation; the defaults are the costs of `docs/explanation/service.md`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", type=float, default=10e6)
    parser.add_argument("--tenants", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--cores", type=int, default=4)
    parser.add_argument("--p50", type=float, default=0.0054, help="seconds, counts and search")
    parser.add_argument("--p99", type=float, default=0.024)
    parser.add_argument("--write", type=float, default=0.006, help="seconds of a core, a copy")
    parser.add_argument("--disk", type=float, default=2500, help="bytes a section")
    parser.add_argument("--bulk", type=float, default=1345, help="sections a second, a node")
    parser.add_argument("--events", type=int, default=100_000)
    print("\n".join(report(parser.parse_args())))


if __name__ == "__main__":
    main()

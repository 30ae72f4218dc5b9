"""Command line of the fault campaigns: `python -m tests.campaigns --seconds 120`."""

from __future__ import annotations

import argparse
import importlib
import secrets
import sys
import time
import traceback
from collections import Counter
from types import ModuleType

from tests.campaigns import report
from tests.campaigns.runner import Result, run
from tests.campaigns.trial import Campaign

# In the order in which they run, with their share of the time; those with long trials come last.
CAMPAIGNS = {
    "stamps": 1,
    "torn_logs": 1,
    "kills": 4,
    "call_faults": 4,
    "caches": 3,
    "link_races": 4,
    "concurrency": 3,
    "limits": 3,
    "soak": 1,
    "power_cuts": 4,
    "interruptions": 3,
}


def modules() -> dict[str, ModuleType]:
    """Return the campaigns by name."""
    return {name: importlib.import_module(f"{__package__}.{name}") for name in CAMPAIGNS}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.campaigns", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="time for all of them together")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help=f"of {', '.join(CAMPAIGNS)}"
    )
    parser.add_argument("--seed", type=int, help="default: another each time")
    parser.add_argument("--kind", help="only trials of this kind, as failures name it in brackets")
    parser.add_argument("--number", type=int, help="only the trial of this number")
    parser.add_argument("--times", type=int, default=1, help="run that trial so often")
    parser.add_argument(
        "--report",
        action="store_true",
        help="also run the suites that hold the other guarantees, and write docs/reliability.md",
    )
    chosen = parser.parse_args()
    if chosen.number is not None and len(chosen.only or ()) != 1:
        parser.error("--number is the number of a trial of one campaign: name it with --only")
    if unknown := set(chosen.only or ()) - set(modules()):
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}")
    kinds = {kind.__name__ for name in chosen.only or modules() for kind in modules()[name].KINDS}
    if chosen.kind and chosen.kind not in kinds:
        parser.error(f"there is no kind {chosen.kind}; there are {', '.join(sorted(kinds))}")
    if chosen.report and (chosen.only or chosen.kind):
        parser.error("--report is for a run of all campaigns")
    if chosen.report and (why := report.obstacle(chosen.seconds)):
        parser.error(why)
    return chosen


def show(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    chosen = options()
    seed = chosen.seed if chosen.seed is not None else secrets.randbelow(10**9)
    taken = {name: mod for name, mod in modules().items() if name in (chosen.only or CAMPAIGNS)}
    start, shares = time.monotonic(), sum(CAMPAIGNS[name] for name in taken)
    show(f"campaigns: seed {seed}, {chosen.seconds:g} seconds")
    results: list[Result] = []
    for name, module in taken.items():
        campaign = Campaign.of(module)
        # what one takes longer is taken from those that come after it
        left = max(0.0, chosen.seconds - (time.monotonic() - start))
        share, shares = CAMPAIGNS[name] / shares, shares - CAMPAIGNS[name]
        try:
            result = run(
                campaign,
                seed,
                left * share,
                tell=show,
                only=chosen.number,
                times=chosen.times,
                kind=chosen.kind,
            )
        except Exception:  # noqa: BLE001 - what the other campaigns have shown is not lost
            first = min(campaign.guarantees)
            result = Result(campaign, Counter({first: 1}), Counter({first: 1}))
            show(f"FAILED {name}: it ended early\n{traceback.format_exc()}")
        results.append(result)
        show(summary(result))
    is_well = not any(result.failures.total() for result in results)
    if chosen.report:
        is_well = report.write(results, seed, chosen.seconds, tell=show) and is_well
    return 0 if is_well else 1


def summary(result: Result) -> str:
    """Return what came of a campaign in a line or two."""
    name = result.campaign.name
    if result.campaign.missing:
        return f"{name}: not tested here: {result.campaign.missing}"
    numbers = ", ".join(
        f"{guarantee}: {result.failures[guarantee]} of {result.checks[guarantee]:,}"
        for guarantee in sorted(result.checks)
    )
    message = f"{name}: {result.trials} trials in {result.seconds:.0f} s"
    lines = [f"{message}; failures of checks by guarantee: {numbers}"]
    lines += [
        f"  {guarantee}: not tested here: {why}" for guarantee, why in result.untested.items()
    ]
    lines += [
        f"  {guarantee}: not tested: {times:,} {what}"
        for (guarantee, what), times in result.left_out.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

"""Runner of trials: each seeded run in a process of its own, one after another, in a time limit.

What a trial does to its process (a crash, a hang, a lost lock) ends with it, and the process that
runs the trials never opens a store, so that trials can fork.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.campaigns.children import Child, SharedLog
from tests.campaigns.trial import Campaign, Outcome, Trial, scratch_parent

# No trial takes so long; one that does hangs.
LONGEST = 90
# A trial of many small checks goes on for so long, or for this part of the time that there is.
LEAST, PART = 2.0, 0.1


@dataclass
class Result:
    """What a campaign has shown so far."""

    campaign: Campaign
    checks: Counter[int] = field(default_factory=Counter)
    failures: Counter[int] = field(default_factory=Counter)
    untested: dict[int, str] = field(default_factory=dict)
    # of a guarantee and what it was: how many
    left_out: Counter[tuple[int, str]] = field(default_factory=Counter)
    trials: int = 0
    seconds: float = 0.0


def run_trial(campaign: Campaign, seed: int, number: int, seconds: float) -> dict[str, Any]:
    """Run one trial; what went wrong outside all checks counts against its first guarantee."""
    kind = campaign.kinds[number % len(campaign.kinds)]
    folder = Path(tempfile.mkdtemp(prefix="campaign-", dir=scratch_parent()))

    def work(shared: SharedLog) -> None:
        os.setpgid(0, 0)
        os.dup2(os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        trial = Trial(Random(f"{seed}/{campaign.name}/{number}"), folder, seconds)
        kind(trial)
        shared.append(trial.outcome()._asdict())

    child, stderr = Child(work), ""
    try:
        ended = child.wait(LONGEST)
        with suppress(FileNotFoundError):
            stderr = (folder / "stderr").read_text(errors="replace")
    finally:
        # also when somebody interrupts us: what the trial has left running, and its files
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.kill()
        shutil.rmtree(folder, ignore_errors=True)
    reported = [record for record in child.shared.records() if "checks" in record]
    if reported and child.status == 0:
        outcome = dict(reported[0])
        if outcome["texts"] and (panics := re.findall(r"panicked at .*|memory alloc.*", stderr)):
            outcome["texts"][-1][1] += f" ({'; '.join(panics[:3])})"
        return outcome
    first = min(campaign.guarantees)
    why = child.crash or ("ended without a word" if ended else f"hung for {LONGEST} seconds")
    once = {first: 1}
    return Outcome(once, once, [(first, why)], untested={}, left_out=[])._asdict()


def run(
    campaign: Campaign,
    seed: int,
    seconds: float,
    *,
    tell: Callable[[str], None],
    only: int | None = None,
    times: int = 1,
    kind: str | None = None,
) -> Result:
    """Run trials until the time is over, all or those of one kind; or one of them so many times."""
    result = Result(campaign)
    start = time.monotonic()
    # a short run does not come to all kinds, and is to begin with another one each time
    numbers = count(seed % len(campaign.kinds)) if only is None else iter([only] * times)
    if campaign.missing:
        result.untested = dict.fromkeys(campaign.guarantees, campaign.missing)
        return result
    reported: Counter[tuple[int, str]] = Counter()
    for number in numbers:
        # each is tried at least once, however little time is left
        if only is None and result.trials and time.monotonic() - start >= seconds:
            break
        name = campaign.kinds[number % len(campaign.kinds)].__name__
        if kind not in {None, name}:
            continue
        outcome = run_trial(campaign, seed, number, min(LONGEST / 3, max(LEAST, PART * seconds)))
        result.trials += 1
        result.checks.update({int(key): value for key, value in outcome["checks"].items()})
        result.failures.update({int(key): value for key, value in outcome["failures"].items()})
        result.left_out.update((guarantee, what) for guarantee, what in outcome["left_out"])
        result.untested |= {int(key): why for key, why in outcome["untested"].items()}
        for guarantee, what in outcome["texts"]:
            reported[guarantee, name] += 1
            # of one kind of failure the first few are enough
            if reported[guarantee, name] <= 3:
                tell(
                    f"FAILED {campaign.name} ({name}), guarantee {guarantee}: {what}\n"
                    f"  repeat: python -m tests.campaigns --only {campaign.name} --seed {seed} "
                    f"--number {number} --times 20 --seconds {seconds:.0f}"
                )
    result.seconds = time.monotonic() - start
    return result

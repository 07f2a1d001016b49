"""Ask many pairs of problems that look alike through one cache: `python -m lab.poison [--pairs 200000] [--seed 0]`.

Each second problem is the first one scaled, moved, renamed, listed otherwise, or with one field changed. Every answer
is verified and held against that of a service that knows nothing yet.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time

from tests.support.cache_pairs import Verdicts, pairs
from tests.support.plan_services import AloneService

_SAY_EVERY = 10_000


def main() -> None:
    """Ask, and print what came of it as one line of JSON; exit with 1 where an answer was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=0.1, help="the time limit of each request, in seconds")
    said = parser.parse_args()
    began, verdicts = time.process_time(), asyncio.run(asked(said.seed, said.pairs, said.limit))
    told = {
        "pairs": said.pairs,
        "answers": verdicts.asked,
        "wrong": len(verdicts.wrong),
        "weaker": verdicts.weaker,
        "cpu_s": round(time.process_time() - began, 1),
    }
    print(json.dumps(told))
    raise SystemExit(bool(verdicts.wrong))


async def asked(seed: int, count: int, limit_s: float) -> Verdicts:
    """Ask both problems of each pair, and the first one again, of one service; and each of a fresh one."""
    shared, verdicts, told = AloneService(), Verdicts(), 0
    for k, (one, other) in enumerate(pairs(seed, count)):
        fresh = [await AloneService().ask(problem, limit_s) for problem in (one, other)]
        for problem, expected in ((one, fresh[0]), (other, fresh[1]), (one, fresh[0])):
            verdicts.add(await shared.ask(problem, limit_s), expected)
        for wrong in verdicts.wrong[told:]:
            told += 1
            print(f"pair {k} of seed {seed}: {wrong}", flush=True)
        if (k + 1) % _SAY_EVERY == 0:
            print(f"{k + 1} pairs, {len(verdicts.wrong)} wrong", flush=True)
    return verdicts


if __name__ == "__main__":
    main()

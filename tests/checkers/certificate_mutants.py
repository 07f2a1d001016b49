"""Certificates with one changed word, which a checker must not accept as a proof of more."""

import random


def mutant(lines: list[str], rng: random.Random) -> list[str]:
    """Return a copy of a certificate with one word changed, in a random line that proves something."""
    found = list(lines)
    k = rng.choice([k for k, line in enumerate(lines) if line.startswith(("l ", "s ", "set ", "worth ", "end "))])
    words = found[k].split()
    j = rng.randrange(1, len(words))
    buffer, is_low, low = words[j].partition(":")
    others = [str(rng.randrange(len(lines))), "@0", "@1", "-", "!0", "time", "of"]
    if words[0] == "worth":
        head, _, number = words[j].rpartition(":")
        others = [f"{head}{':' * bool(head)}{max(0, int(number) + rng.choice([-2, -1, 1, 2]))}", ""]
    elif is_low and not buffer.startswith("@") and low.isdecimal():
        others = ["", f"{buffer}:{max(0, int(low) + rng.choice([-3, -1, 1, 3]))}", f"{rng.randrange(6)}:{low}"]
    words[j] = rng.choice(others)
    found[k] = " ".join(words)
    return found

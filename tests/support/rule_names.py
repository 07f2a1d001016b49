"""The names of the verifier's rules, and the oracle's names for them."""

KINDS = {
    "unknown-buffer": "unknown",
    "repeated-buffer": "twice",
    "unplaced-buffer": "missing",
    "unknown-pool": "pool",
    "pool-not-allowed": "pool",
    "misaligned": "alignment",
    "past-capacity": "capacity",
    "reserved-range": "reserved",
    "pin-missed": "pin",
    "alias-misplaced": "alias",
    "straddles": "page",
    "wrong-remainder": "remainder",
    "too-high": "end",
    "too-low": "start",
    "relative-misplaced": "relative",
    "not-together": "together",
    "bank-clash": "bank",
    "overlap": "overlap",
    "conflict": "overlap",
}

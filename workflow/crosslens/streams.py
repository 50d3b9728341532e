"""Random streams by name: what draws from one never moves what draws from another."""

import hashlib


def stream(seed: int, *names: str | int) -> int:
    """Seed of a named stream, 0 to 2^63 - 1: `stream(0, "block", 3)` and `stream(0, "head", "task")` are independent."""
    return int.from_bytes(hashlib.sha256(repr((seed, *names)).encode()).digest()[:8], "little") >> 1

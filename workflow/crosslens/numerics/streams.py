"""Named random streams: drawing from one never changes what another one yields."""

import hashlib


def stream(seed: int, *names: str | int) -> int:
    """Seed of a named stream, 0 to 2^63 - 1: `stream(0, "block", 3)` and `stream(0, "head", "task")` are independent.

    Raises TypeError for a part that is not exactly an int or a str. The seed is a hash of the parts' representations, and those
    of np.str_ and np.int64 differ between versions of NumPy.
    """
    for part in (seed, *names):
        if type(part) not in (int, str):
            raise TypeError(
                f"stream{(seed, *names)!r}: expected parts of type int or str, found {part!r} of type {type(part).__name__}: "
                "convert it, an array by .tolist()"
            )
    return int.from_bytes(hashlib.sha256(repr((seed, *names)).encode()).digest()[:8], "little") >> 1

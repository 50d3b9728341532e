"""Random streams by name."""

from itertools import product

from crosslens.streams import stream


def test_streams_of_other_names_or_seeds_are_other_streams():
    names = [
        (),
        ("block", 0),
        ("block", 1),
        ("block", "1"),
        ("block", 1, 1),
        ("heads", "task"),
        ("head", "task"),
        ("dropout", "task"),
    ]
    seeds = [stream(seed, *each) for seed, each in product((0, 1), names)]
    assert len(set(seeds)) == 2 * len(names) and all(0 <= seed < 2**63 for seed in seeds)
    assert seeds == [stream(seed, *each) for seed, each in product((0, 1), names)]

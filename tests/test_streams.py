"""Random streams by name."""

from enum import StrEnum
from itertools import product

import numpy as np
import pytest
from crosslens.numerics.streams import stream


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


@pytest.mark.parametrize("part", [np.str_("de"), np.int64(3), True, 3.0, None, StrEnum("Code", ["de"]).de])
def test_parts_whose_representation_is_not_plain_are_refused(part):
    """repr(np.str_("de")) is "np.str_('de')" since NumPy 2, and was "'de'" before: another stream by the version installed."""
    with pytest.raises(
        TypeError, match=rf"expected parts of type int or str, found .* of type {type(part).__name__}: convert it"
    ):
        stream(0, "fit", part)
    with pytest.raises(TypeError, match="expected parts of type int or str"):
        stream(part, "fit")


def test_streams_stay_what_they_are():
    """Every draw of every run depends on these numbers."""
    assert stream(0) == 3582888934675442504
    assert stream(42, "fit", "de", 3) == 5630951098358521816

"""Functions and estimators for notebooks, see docs/api.md. They read and compute what the workflow does, by the same code."""

from crosslens.api.estimators import LanguageSubspace, Probe
from crosslens.api.states import Encoder, encode, load_encoder, read_records, read_states
from crosslens.measures.shared.cka import cka

__all__ = ["Encoder", "LanguageSubspace", "Probe", "cka", "encode", "load_encoder", "read_records", "read_states"]

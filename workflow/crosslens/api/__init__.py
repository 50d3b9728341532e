"""Functions and estimators for notebooks (docs/api.md). They share the code of the workflow, so that results agree."""

from crosslens.api.estimators import LanguageSubspace, Probe
from crosslens.api.states import Encoder, encode, load_encoder, read_records, read_states
from crosslens.measures.shared.cka import cka

__all__ = ["Encoder", "LanguageSubspace", "Probe", "cka", "encode", "load_encoder", "read_records", "read_states"]

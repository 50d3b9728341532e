"""Names of what the kind `change` yields of versions of an encoder, shared with the table, which runs no encoder."""

STATES, WEIGHTS = "cka before and after", "relative change of weights"
"""Measures: similarity of states by layer and language, and length of the change of a layer's weights over their length."""
TRAINED, RANDOM = "changed by training", "changed at random by as much"
"""Definitions: what changed the encoder between before and after."""

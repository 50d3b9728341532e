"""Names of what the kind `change` yields of versions of an encoder, shared with the table, which runs no encoder."""

STATES, WEIGHTS = "cka before and after", "relative change of weights"
"""Measures: similarity of states by layer and language, and length of the change of a layer's weights over their length."""
TRAINED, LOWER_HALF = "changed by training", "changed by training in the lower half alone"
"""Definitions: what differs between the encoder before and after."""

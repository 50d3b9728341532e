"""Names of the measures and definitions that `change` yields, shared with the table, which runs no encoder."""

STATES, WEIGHTS = "cka before and after", "relative change of weights"
"""Measures: similarity of states by layer and language, and norm of the change of a layer's weights divided by their norm."""
TRAINED, LOWER_HALF = "changed by training", "changed by training in the lower half alone"
"""Definitions: what differs between the encoder before and after."""

"""Cost of a run, before it starts: `make cost`, or python -m crosslens.monitoring.cost [TARGET ...] [--profile NAME]."""

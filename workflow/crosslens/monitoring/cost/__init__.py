"""What a run will take, before it starts: `make cost`, or python -m crosslens.monitoring.cost [TARGET ...] [--profile NAME]."""

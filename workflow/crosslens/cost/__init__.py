"""What a run will take, before it starts: `make cost`, or python -m crosslens.cost [TARGET ...] [--profile NAME]."""

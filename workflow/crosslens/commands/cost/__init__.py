"""Cost of a run, before it starts: `make cost`, or python -m crosslens.commands.cost [TARGET ...] [--profile NAME]."""

"""Generation of documents: `make docs`, or python -m crosslens.commands.documents. No other package imports this one."""

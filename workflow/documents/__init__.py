"""Documents that are generated: `make docs`, or python -m documents. They tell of crosslens, which knows nothing of them."""

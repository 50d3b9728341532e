"""Generation of documents: `make docs`, or python -m documents. crosslens knows nothing of this package."""

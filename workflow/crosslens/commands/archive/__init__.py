"""The archive of a preset: one file with results, and all it takes to rebuild its tables and verdicts (docs/archive.md)."""

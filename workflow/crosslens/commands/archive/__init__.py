"""The archive of a preset: one file with the results and all that its tables and verdicts are rebuilt from (docs/archive.md)."""

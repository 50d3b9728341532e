"""Readers of official files: treebanks, running text and others become typed rows, with one Parquet schema for each kind."""

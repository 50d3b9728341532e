"""From official files to typed rows: treebanks and running text, one Parquet schema for each kind of corpus."""

"""Where the studies' data come from: the table of sources, and official files fetched and verified."""

"""The verb retire: what no longer serves goes, and old files and rows with it."""

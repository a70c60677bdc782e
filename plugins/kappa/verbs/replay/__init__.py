"""The verbs reprocess and prove: a replay of the log into candidates, up to the question whether they shall serve."""

"""What is shown beside the question whether a replay's candidates may serve."""

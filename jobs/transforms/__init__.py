"""Pure steps, DataFrame to DataFrame: what a record means, which fate it has, what a window counts."""

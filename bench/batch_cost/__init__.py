"""What a second of live traffic costs the queries of the jobs, by several ways to run them."""

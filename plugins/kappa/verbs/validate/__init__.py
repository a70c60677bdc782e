"""The verb validate: what serves, held against what the suites expect of it."""

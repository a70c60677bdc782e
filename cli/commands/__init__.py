"""The commands of ./kappa: a file for each, named after it."""

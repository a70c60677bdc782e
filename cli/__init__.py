"""The command line: one file per verb family, each a thin layer of Typer and Rich over the other folders."""

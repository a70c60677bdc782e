"""The commands of ./kappa: a file for each family of them; COMMANDS in cli/main.py says which command is where."""

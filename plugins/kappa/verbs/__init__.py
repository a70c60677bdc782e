"""What an operator asks for, a folder for each verb: its plan is decided by pure functions, its steps act."""

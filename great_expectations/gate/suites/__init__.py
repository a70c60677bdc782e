"""One suite per served table, one for what holds between tables."""

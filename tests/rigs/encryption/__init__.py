"""What encryption costs on one machine."""

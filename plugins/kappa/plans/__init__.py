"""Plans: pure values that say what a verb would do and why; printing one is the dry run."""

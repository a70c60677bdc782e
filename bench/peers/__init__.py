"""The job `ad_ctr` done by other engines on the same log and database, and by ours, measured alike."""

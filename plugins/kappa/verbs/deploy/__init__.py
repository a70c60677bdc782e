"""The verb deploy; starting a job again is one of its plans."""

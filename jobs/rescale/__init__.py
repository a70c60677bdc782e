"""A repartition of a version's state: copied, proved equal, entered."""

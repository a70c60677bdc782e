"""The verb autoscale: the advice on a job's size, carried out by itself where the policy lets it."""

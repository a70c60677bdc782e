"""The verbs promote and rollback: which version serves which windows from now on."""

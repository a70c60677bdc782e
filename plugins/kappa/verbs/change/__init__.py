"""A version that becomes something else in place, on its checkpoint: what deploy and rescale share."""

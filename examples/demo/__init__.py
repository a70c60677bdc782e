"""The demo: a real ad log from nothing to exact numbers, another rule for them, and back again."""

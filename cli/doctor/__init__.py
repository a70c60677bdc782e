"""Tries each part of an installation with each role, and says what is missing and how to get it."""

"""Tests, each of one thing that the package does."""

"""Tests of the memory systems, one folder each."""

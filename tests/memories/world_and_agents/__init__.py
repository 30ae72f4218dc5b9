"""Tests of world and agents."""

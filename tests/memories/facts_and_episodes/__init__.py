"""Tests of facts and episodes."""

"""Tests of overview and detail."""

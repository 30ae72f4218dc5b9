"""Tests of the page in a browser."""

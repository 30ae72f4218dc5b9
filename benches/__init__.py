"""Benchmarks: `python -m benches.compare`, and `pytest benches --benchmark-only`."""

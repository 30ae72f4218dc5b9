"""Side-by-side measurements: `python -m benches.compare`, and `pytest benches --benchmark-only`."""

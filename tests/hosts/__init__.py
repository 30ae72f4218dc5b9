"""Real agent programs, run against a small model on loopback, without a network."""

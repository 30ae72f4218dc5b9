"""Fault campaigns: what the package promises, tried with kills, failing calls and hostile files."""

"""Fault campaigns: seeded trials with kills, failing calls, power cuts and hostile files."""

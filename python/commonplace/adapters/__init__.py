"""Thin adapters between this package and what others make, one file each; each needs an extra."""

"""Adapters to model clients and embedders, one file each; each needs an extra."""

"""Doors: interfaces by which hosts, frameworks and SDKs reach a memory, one module each.

A door translates and decides nothing. What it needs of others comes with an extra of its name.
"""

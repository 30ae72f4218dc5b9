"""Entries of notes: their form, their compaction, and their injection into a prompt."""

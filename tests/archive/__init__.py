"""Tests of the archive: sessions whose index is on the disk."""

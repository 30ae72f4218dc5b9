"""Tests of four layers."""

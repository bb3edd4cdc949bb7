"""Exports, and the import from Label Studio."""

"""Texts, annotations, and what they mean."""

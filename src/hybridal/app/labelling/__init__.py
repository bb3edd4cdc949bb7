"""Texts, answers, and what they mean."""

"""Attacks known from advisories of similar tools.

Scripts in names and texts need a browser: `tests/app/browser/test_hostile.py`.
"""

"""Evidence: what runs have shown, in words, tables and figures.

Nothing is imported here: matplotlib and jinja2 are loaded by the files that draw and write, when they are used.
"""

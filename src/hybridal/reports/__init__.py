"""Reports of single runs and comparisons: text, tables, figures and HTML pages.

Nothing is imported here: the files that draw and write load matplotlib and jinja2 when they are used.
"""

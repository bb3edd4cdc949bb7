"""Reports of studies: tables, figures and one page."""

"""Where the projects of browser tests keep their labels: `make test-postgres` runs these tests on PostgreSQL."""

from __future__ import annotations

OPTION = "--on-postgres"

database: str | None = None
"""The address of a PostgreSQL database, in which each project gets a schema; None for SQLite files."""

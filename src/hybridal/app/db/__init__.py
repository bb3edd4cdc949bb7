"""Where annotations are kept: SQLite in the project folder, or PostgreSQL."""

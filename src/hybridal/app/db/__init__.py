"""Where answers are kept: SQLite in the project folder, or PostgreSQL."""

"""Files, locks, folders and clocks."""

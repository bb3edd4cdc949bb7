"""Who may come in, and as what."""

"""The classifier and how it is trained and asked."""

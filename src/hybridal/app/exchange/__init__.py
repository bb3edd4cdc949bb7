"""What people take away, and what they bring from elsewhere."""

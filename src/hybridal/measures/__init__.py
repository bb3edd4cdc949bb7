"""Pure functions over predictions and facts."""

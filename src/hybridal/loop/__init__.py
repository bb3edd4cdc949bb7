"""Algorithm 1, and what begins and ends it."""

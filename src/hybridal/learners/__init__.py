"""The public classes: learners, and the classifier that they train."""

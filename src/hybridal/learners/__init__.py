"""What people call: learners, and the classifier that they give."""

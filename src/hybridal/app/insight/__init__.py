"""What the labels and the model say: agreement, progress, doubts."""

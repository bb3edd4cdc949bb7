"""What the labels and the model tell: agreement, progress, doubtful labels."""

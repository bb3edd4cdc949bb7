"""Agreement, progress and doubtful labels: pure functions of annotations and round records."""

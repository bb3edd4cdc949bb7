"""Texts, annotations, the consensus that follows from them, and the queue of texts to label."""

"""The labelling app: people label, a model learns in the background, and requests never wait for it."""

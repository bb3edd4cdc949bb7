"""Fast paths of a GPU: a whole step is recorded once and replayed, so that launching it costs nothing."""

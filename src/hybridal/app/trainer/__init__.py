"""The trainer: a separate process that turns labels into models, and models into a queue of texts."""

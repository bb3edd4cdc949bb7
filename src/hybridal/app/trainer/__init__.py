"""The trainer: a process beside the web server that turns labels into models, and models into a queue."""

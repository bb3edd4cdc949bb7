"""The trainer: a process beside the web server that turns verdicts into models, and models into a queue."""

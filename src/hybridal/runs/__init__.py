"""The run folder: what was asked, what happened, and how to go on."""

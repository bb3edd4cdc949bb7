"""The web process: pages, and the JSON API that they use."""

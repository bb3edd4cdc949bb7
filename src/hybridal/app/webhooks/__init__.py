"""Webhooks: signed messages about the events of a project, never sent to addresses in the app's own network."""

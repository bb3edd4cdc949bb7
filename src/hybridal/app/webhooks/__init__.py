"""Webhooks: what happens in a project is told to others' servers, signed, and never to an address inside."""

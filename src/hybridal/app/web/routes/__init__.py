"""One file a noun; each module's `router` is part of the app."""

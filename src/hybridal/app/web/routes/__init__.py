"""One file per resource; each module's `router` is part of the app."""

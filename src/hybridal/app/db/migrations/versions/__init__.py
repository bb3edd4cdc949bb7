"""One file a step; none is ever changed once it was released."""

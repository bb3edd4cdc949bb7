"""The data types that all packages share: round records, the pool, the protocol, the outputs of a model."""

"""What everything speaks of: rounds and their facts, the pool, the rules of an experiment, outputs of a model."""

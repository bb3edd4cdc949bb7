"""Active learning for text classification that decides, round by round, whether to retrain or to fine-tune."""

__version__ = "0.1.0"

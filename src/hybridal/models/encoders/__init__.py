"""Encoders and classifiers as modules: BERT's family, DistilBERT and MPNet of our own, all others by transformers."""

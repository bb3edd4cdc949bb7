"""Metrics, calibration, forecasts and advice: pure functions over predictions and round records."""

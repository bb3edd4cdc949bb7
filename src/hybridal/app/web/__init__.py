"""The pages and the JSON behind them."""

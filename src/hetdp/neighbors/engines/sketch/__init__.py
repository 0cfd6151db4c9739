"""The sketch engine: everybody publishes once."""

"""hetdp."""

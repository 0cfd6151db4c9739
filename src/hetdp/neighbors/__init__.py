"""Private neighbours and recommendations: one estimator, three engines."""

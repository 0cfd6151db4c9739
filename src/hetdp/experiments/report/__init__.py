"""The report of an evaluation: figures, verdicts, one HTML file, and every number as CSV."""

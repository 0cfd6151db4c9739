"""The one way in: tables, pairs, catalogues and matrices, from files and frames."""

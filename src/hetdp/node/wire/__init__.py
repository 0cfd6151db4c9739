"""The transport of a node: a process of its own."""

"""The protocol of a node: state machines without I/O."""

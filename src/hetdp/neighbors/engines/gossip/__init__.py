"""The gossip engine: the protocol of the paper."""

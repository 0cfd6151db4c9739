"""A node that publishes once per epoch, gossips blindly and chooses locally.

`network` and `catalogue` are public; `identity`, `store` and `publication` keep what is one person's; `node` is the
protocol without I/O (`cyclon`, `exchange`, `admission` are its parts), `transport` and `daemon` put it on the wire,
`memory_network` on a fake one. `neighbours` computes at home, from the exact profile, and sends nothing.
"""

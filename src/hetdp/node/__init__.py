"""A node that publishes once per epoch, gossips blindly and chooses locally.

`protocol` is what nodes say to each other, as state machines without I/O; `storage` is the folder and the store of one
person's node; `wire` is the transport, in a process of its own. `publication` draws and pays for an epoch's sketch,
`neighbors` computes at home from the exact profile and sends nothing, `handle` is the node as its owner sees it,
`daemon` runs it, `page` shows it in the browser, `demo` runs a whole network of them.
"""

"""A node that publishes once per epoch, gossips blindly and chooses locally.

`protocol` is what nodes say to each other, as state machines without I/O; `storage` is the folder and the store of one
person's node; `wire` is the transport, in a process of its own. `publication` draws and pays for an epoch's sketch,
`neighbors`, `recommendations` and `learning` compute at home and send nothing, and `honest` says whose sketches have a
say in it; `groups` tells what a sketch tells about a group. `moving`, `restoring` and `leaving` are what a node can go
through, `twins` what it does when it meets its own key elsewhere, `happenings` the words for all that. `handle` is the
node as its owner sees it, `daemon` runs it, `page` shows it in the browser, `demo` runs a whole network of them.
"""

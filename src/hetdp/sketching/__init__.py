"""The sketch: one noisy bit per catalogue item, published once. The one home of it for library, engine, node and audit.

`law` says with which probability a bit is 1, `bits` draws and packs them, `estimate` reads sketches, and `significance`
tells how sure it is that what was read is more than noise.
"""

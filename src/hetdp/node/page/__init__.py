"""The local page of a node: what its owner sees and sets, in the browser, on this machine only.

`server` listens on loopback, `guard` lets only the owner in, `application` routes and frames what the `*_page` modules
show and do, `pictures` turns numbers into drawings (and `node.words` into sentences). It needs starlette, uvicorn and
jinja2; a node runs without them, and without a page.
"""

from hetdp.node.page.server import serve

__all__ = ["serve"]

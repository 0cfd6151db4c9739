"""The public modules: tests of names, types and documentation go through them."""

PUBLIC = (
    "hetdp",
    "hetdp.accounting",
    "hetdp.auditing",
    "hetdp.datasets",
    "hetdp.errors",
    "hetdp.evaluation",
    "hetdp.mechanisms",
    "hetdp.neighbors",
    "hetdp.noise",
    "hetdp.plots",
    "hetdp.policies",
    "hetdp.profiles",
    "hetdp.queries",
    "hetdp.recommender",
    "hetdp.sketching",
    "hetdp.tables",
)

"""Dask: where a morning has many lists, the workers of a cluster compose."""

from paperboy.service.feature import Feature, lazily

FEATURE = Feature(
    name="cluster",
    worker_pool=lazily("cluster.scheduler", "worker_pool"),
    check=lazily("cluster.scheduler", "look"),
)

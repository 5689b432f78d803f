"""Dask: a cluster's workers compose the digests of a morning with many lists."""

from paperboy.service.feature import Feature, lazily

FEATURE = Feature(
    name="cluster",
    worker_pool=lazily("cluster.scheduler", "worker_pool"),
    check=lazily("cluster.scheduler", "check"),
)

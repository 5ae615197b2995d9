"""Clusters of rubrics: residual profiles, shared noise, linkage, reliability."""

from s2s_assets.rubrics.agreement import adjusted_rand_index
from s2s_assets.rubrics.boards import cluster_names, cluster_study, profiles
from s2s_assets.rubrics.clustering import cluster_rubrics
from s2s_assets.rubrics.frames import CLUSTERS_SCHEMA, clusters_from_frame, clusters_to_frame
from s2s_assets.rubrics.records import METHOD_VERSION, Partition, RubricClusters

__all__ = [
    "CLUSTERS_SCHEMA",
    "METHOD_VERSION",
    "Partition",
    "RubricClusters",
    "adjusted_rand_index",
    "cluster_names",
    "cluster_rubrics",
    "cluster_study",
    "clusters_from_frame",
    "clusters_to_frame",
    "profiles",
]

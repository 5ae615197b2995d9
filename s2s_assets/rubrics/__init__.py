"""Clusters of rubrics: residual profiles, shared noise, linkage, reliability."""

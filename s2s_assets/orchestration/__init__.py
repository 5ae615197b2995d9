"""The Dagster parts that rooms share: partitions, IO manager, resources, reconciling sensors, run coordinator."""

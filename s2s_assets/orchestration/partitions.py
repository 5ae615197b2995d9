"""The one partition set: a config key, `model|voice|thinking`.

Dagster checks nothing about a dynamic key, and a deleted key keeps its events. So a key is parsed where it enters and
again when an asset starts, keys are never deleted, and whoever lists them intersects with the loaded study.
"""

import dagster as dg

from s2s_assets.study import Config, ConfigKey, Study

CONFIG_SET = "s2s_config"
"""Name of the partition set."""
CONFIGS = dg.DynamicPartitionsDefinition(name=CONFIG_SET)


def live_keys(instance: dg.DagsterInstance, study: Study) -> list[str]:
    """Registered keys that the study has as active configs, in the study's order."""
    registered = set(instance.get_dynamic_partitions(CONFIG_SET))
    return [str(c.key) for c in study.active_configs if str(c.key) in registered]


def config_of_run(context: dg.AssetExecutionContext, study: Study) -> Config | str:
    """The config of the run's partition, or why that partition is skipped.

    Raises:
        ConfigKeyError: the partition key is not a config key.
    """
    key = str(ConfigKey.parse(context.partition_key))
    config = study.config(key)
    if config is None:
        return f"{key} is no config of study {study.study}; nothing was sent"
    if config.model.retired is not None:
        return f"{key} is retired since {config.model.retired}; nothing was sent, its history stays"
    return config

"""From a config of the study to a request that can be sent: addresses and keys are looked up, settings are checked.

An address is, first that is there: given by the caller, the variable that `base_url_env` names, `base_url`, the
protocol's own. Keys come from named environment variables and from nowhere else; an absent one is an error before
anything is sent.
"""

import os
from collections.abc import Iterator, Mapping

from s2s_assets.responses.providers import adapter
from s2s_assets.responses.providers.addresses import is_address
from s2s_assets.responses.providers.base import StageSpec
from s2s_assets.responses.records import Request, Terms
from s2s_assets.study import Config, Exchange, StudyError

PerStage = str | Mapping[str, str] | None


def resolve(
    config: Config,
    exchange: Exchange,
    environ: Mapping[str, str] | None = None,
    base_url: PerStage = None,
) -> Request:
    """The request of a config.

    Args:
        config: model, voice and thinking level.
        exchange: pace and timeouts of the study.
        environ: where keys and addresses are looked up, by default the process's environment.
        base_url: replaces the provider's address; by stage in a cascade.

    Raises:
        StudyError: unknown adapter or setting, a stage that the adapter does not have, a variable that is not set, an
            address that is none.
    """
    environ = os.environ if environ is None else environ
    model = config.model
    kind = adapter(model.adapter)
    kind.check(model.id, model.settings)
    for what, given in (("key_env", model.key_env), ("base_url", base_url or model.base_url)):
        _check_stages(config, what, given, kind.stages)
    return Request(
        config=str(config.key),
        adapter=model.adapter,
        settings=model.settings,
        instruction=config.instruction,
        voice=config.voice.provider_id or config.voice.id,
        thinking=config.thinking,
        addresses={s: _address(config, s, spec.url, base_url, environ) for s, spec in kind.stages.items()},
        providers=stage_providers(config),
        keys={name: key for s, spec in kind.stages.items() for name, key in _keys(config, s, spec, environ)},
        terms=_terms(exchange),
    )


def _terms(exchange: Exchange) -> Terms:
    return Terms(
        pace=exchange.pace,
        connect_timeout_s=exchange.connect_timeout_s,
        first_event_timeout_s=exchange.first_event_timeout_s,
        idle_timeout_s=exchange.idle_timeout_s,
    )


def _of(given: PerStage, stage: str) -> str | None:
    """The value for a stage: one text is for all of them."""
    return given.get(stage) if isinstance(given, Mapping) else given


def _keys(config: Config, stage: str, spec: StageSpec, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The stage's key by its name, further secrets by their usual variables'.

    A key whose variable is the usual one with something before it has further secrets with the same before theirs.
    """
    if named := _of(config.model.key_env, stage) or spec.key_env:
        yield stage, _variable(config, "key_env", named, environ)
    before = named.removesuffix(spec.key_env) if named and spec.key_env and named.endswith(spec.key_env) else ""
    for name, needed in spec.secrets.items():
        if needed or environ.get(before + name, "").strip():
            yield name, _variable(config, "a secret", before + name, environ, renamed=False)


def _address(config: Config, stage: str, usual: str, base_url: PerStage, environ: Mapping[str, str]) -> str:
    named, fixed = _of(config.model.base_url_env, stage), _of(config.model.base_url, stage)
    if given := _of(base_url, stage):
        found = given
    elif named and (environ.get(named) or not fixed):
        found = _variable(config, "base_url_env", named, environ)
    else:
        found = fixed or usual
    # found out here, where nothing has been sent: as a failed connection it would be tried again and again
    if not is_address(found, like=usual):
        plain = usual.partition("://")[0].removesuffix("s")
        what = f"the base URL {found!r} of stage {stage}" if found != usual else f"no base_url for stage {stage}"
        raise StudyError(f"config {config.key}: {what}: expected {plain}s://HOST or {plain}://HOST. Nothing was sent")
    return found


def stage_providers(config: Config) -> dict[str, str]:
    """Stage → whose limits and prices it has: its setting, else the protocol's usual provider, else the model's.

    A stage at an address of one's own is not at the usual provider.

    Raises:
        StudyError: the adapter is unknown.
    """
    stages = adapter(config.model.adapter).stages
    return {stage: _provider(config, stage, spec.provider) for stage, spec in stages.items()}


def _provider(config: Config, stage: str, usual: str | None) -> str:
    settings = config.model.settings.get(stage)
    if isinstance(settings, Mapping) and settings.get("provider"):
        return str(settings["provider"])
    own = _of(config.model.base_url, stage) or _of(config.model.base_url_env, stage)
    return config.model.provider if own or usual is None else usual


def _variable(config: Config, what: str, name: str, environ: Mapping[str, str], *, renamed: bool = True) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise StudyError(
            f"config {config.key}: the environment variable {name} ({what} of model {config.model.id!r}) is not set; set it"
            f"{', or name another one in study.yaml' if renamed else ''}. Nothing was sent"
        )
    return value


def _check_stages(config: Config, what: str, given: PerStage, stages: Mapping[str, object]) -> None:
    unknown = sorted(set(given) - set(stages)) if isinstance(given, Mapping) else []
    if unknown:
        raise StudyError(
            f"config {config.key}: {what} names the stage {', '.join(unknown)}; "
            f"the adapter {config.model.adapter!r} has {', '.join(stages)}"
        )

"""Bounds of one training on this server. The defaults suit two shared cores; web/README.md says what they mean."""

from dataclasses import dataclass

from ..settings import setting


@dataclass(frozen=True)
class Limits:
    """Limits of trainings, and of the models that they leave."""

    seconds: int = setting("TRANSFORMER_TRAIN_SECONDS", 120)  # of a training; it keeps what it learned until then
    parameters: int = setting("TRANSFORMER_TRAIN_PARAMETERS", 50_000_000)
    memory: int = setting("TRANSFORMER_TRAIN_MEMORY", 1_500)  # MB, by estimate, in addition to PyTorch
    concurrency: int = setting("TRANSFORMER_TRAIN_CONCURRENCY", 2)
    megabytes: int = setting("TRANSFORMER_MODELS_MEGABYTES", 1_000)  # of all sessions' models
    minutes: int = setting("TRANSFORMER_MODELS_MINUTES", 60)  # that a model is kept after its last use
    tokens: int = 60_000  # words of all pairs of a visitor's own, both sides together
    queue_size: int = 30  # trainings that may wait
    models: int = 4  # that a session keeps; a new one replaces the least recently used

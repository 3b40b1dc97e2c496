"""The training loop, its configuration, and scores (§5). `python -m transformer.training` is the command."""

from .config import TrainingConfig
from .loop import Progress, adam, seeded_model, train
from .scoring import Evaluation, evaluate, measure, output_limit

"""The original Transformer, and a translator that shows its work. Importing this imports neither gradio nor plotly."""

from .data.vocabulary import SentenceError, Vocabulary
from .inference.attention_maps import AttentionMap, AttentionMaps
from .inference.decoding import Step, greedy_batch, greedy_decode
from .inference.device import pick_device
from .inference.translation import Translation
from .inference.translator import Translator
from .network.config import TransformerConfig
from .network.layers import sinusoidal_positions
from .network.model import Attention, Transformer, TransformerOutput
from .network.probe import Probe, Recorder
from .storage.checkpoint import Checkpoint, load_checkpoint, save_checkpoint

__all__ = [
    "Attention",
    "AttentionMap",
    "AttentionMaps",
    "Checkpoint",
    "Probe",
    "Recorder",
    "SentenceError",
    "Step",
    "Transformer",
    "TransformerConfig",
    "TransformerOutput",
    "Translation",
    "Translator",
    "Vocabulary",
    "greedy_batch",
    "greedy_decode",
    "load_checkpoint",
    "pick_device",
    "save_checkpoint",
    "sinusoidal_positions",
]

"""The original Transformer, and a translator that shows its work. Importing this imports neither gradio nor plotly."""

from .checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from .config import TransformerConfig
from .decoding import Step, greedy_batch, greedy_decode
from .device import pick_device
from .layers import sinusoidal_positions
from .maps import AttentionMap, AttentionMaps
from .model import Attention, Transformer, TransformerOutput
from .probe import Probe, Recorder
from .translator import Translation, Translator
from .vocabulary import SentenceError, Vocabulary

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

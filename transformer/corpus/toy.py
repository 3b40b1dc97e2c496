"""Two sentences. Only bier/cola decides anything, so cross-attention has one thing to learn."""

from ..vocabulary import Vocabulary
from .base import Corpus

TOY = Corpus(
    name="toy",
    pairs=(("ich mochte ein bier", "i want a beer ."), ("ich mochte ein cola", "i want a coke .")),
    src_vocab=Vocabulary(("P", "ich", "mochte", "ein", "bier", "cola")),
    tgt_vocab=Vocabulary(("P", "i", "want", "a", "beer", "coke", "S", "E", ".")),
    source_length=5,  # one more than the words, so that a padding column is there to be seen
    telling_words={"beer": "bier", "coke": "cola"},
)

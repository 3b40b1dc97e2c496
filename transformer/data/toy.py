"""Two sentences. Only bier/cola decides anything, so cross-attention has one thing to learn."""

from .alignment import AlignedPair, Gold
from .corpus import Corpus, Example, Material
from .vocabulary import Vocabulary

# "." stands for no German word; every other English word for the German one in the same place.
_GOLD = Gold(sure=((0,), (1,), (2,), (3,), ()), possible=((), (), (), (), ()))
_ALIGNED = {
    pair.source: pair
    for pair in (
        AlignedPair("ich mochte ein bier", "i want a beer .", _GOLD, "Ich möchte ein Bier"),
        AlignedPair("ich mochte ein cola", "i want a coke .", _GOLD, "Ich möchte ein Cola"),
    )
}

TOY = Corpus(
    name="toy",
    pairs=tuple((pair.source, pair.target) for pair in _ALIGNED.values()),
    src_vocab=Vocabulary(("P", "ich", "mochte", "ein", "bier", "cola")),
    tgt_vocab=Vocabulary(("P", "i", "want", "a", "beer", "coke", "S", "E", ".")),
    source_length=5,  # one more than the words, so that a padding column is there to be seen
    material=Material(
        size=2,
        examples=(
            Example("", "Ich möchte ein Bier", "bier"),
            Example("", "Ich möchte ein Cola", "cola"),
        ),
        words={"all": (("ich", "i"), ("möchte", "want"), ("ein", "a"), ("Bier", "beer"), ("Cola", "coke"))},
        read=_ALIGNED.get,
        held_out={},
    ),
    telling_words={"beer": "bier", "coke": "cola"},
)

"""Two sentences. Only bier/cola differs, so cross-attention has one thing to learn."""

from .alignment import AlignedPair, GoldAlignment
from .corpus import Corpus, Example
from .vocabulary import Vocabulary

# "." has no German counterpart; every other English word has the German one in the same place.
_GOLD = GoldAlignment(sure=((0,), (1,), (2,), (3,), ()), possible=((), (), (), (), ()))
_PAIRS = {
    pair.source: pair
    for pair in (
        AlignedPair("ich mochte ein bier", "i want a beer .", _GOLD, "Ich möchte ein Bier"),
        AlignedPair("ich mochte ein cola", "i want a coke .", _GOLD, "Ich möchte ein Cola"),
    )
}

TOY = Corpus(
    name="toy",
    size=2,
    source_length=5,  # one more than the words, so that attention maps show a padding column
    load=lambda: (
        tuple((pair.source, pair.target) for pair in _PAIRS.values()),
        Vocabulary(("P", "ich", "mochte", "ein", "bier", "cola"), folds=True),
        Vocabulary(("P", "i", "want", "a", "beer", "coke", "S", "E", "."), folds=True),
    ),
    examples=(Example("", "Ich möchte ein Bier", "bier"), Example("", "Ich möchte ein Cola", "cola")),
    words={"all": (("ich", "i"), ("möchte", "want"), ("ein", "a"), ("Bier", "beer"), ("Cola", "coke"))},
    find=_PAIRS.get,
    deciding_words={"beer": "bier", "coke": "cola"},
)

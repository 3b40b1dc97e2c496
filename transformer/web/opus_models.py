"""The real models that a server lists if its settings name no others: five of OPUS-MT, with sentences to try.

They are pinned to commits, so that a page shows tomorrow what it shows today. Their sizes and licences are those that
the Hub states.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..data import Example

IN_ANY_LANGUAGE = (Example("", "1987 + 30 = 2017", ""),)


@dataclass(frozen=True)
class ListedModel:
    """A model that may be chosen.

    Attributes:
        checkpoint: as requests and links name it.
        source: `owner/name@revision` on the Hub, or a folder.
        licence: as the Hub names it; "" if it is not known.
        size: bytes of its weights; 0 if it is not known.
        languages: codes of source and target; none if they are not known.
        examples: sentences to try, at least one.
    """

    checkpoint: str
    source: str | Path
    licence: str = ""
    size: int = 0
    languages: tuple[str, ...] = ()
    examples: tuple[Example, ...] = IN_ANY_LANGUAGE


def _opus(pair: str, revision: str, licence: str, megabytes: int, sentences: Mapping[str, str]) -> ListedModel:
    """One of OPUS-MT, with a sentence for each phenomenon."""
    name = f"Helsinki-NLP/opus-mt-{pair}"
    examples = tuple(Example(f"real.{shows}", sentence, "") for shows, sentence in sentences.items())
    return ListedModel(name, f"{name}@{revision}", licence, megabytes * 10**6, tuple(pair.split("-")), examples)


OPUS = (
    _opus(
        "de-en",
        "1a922f3b32a8e809e17a47d4b32142d8105924e5",
        "apache-2.0",
        298,
        {
            "word_order": "Gestern hat meine Schwester im Garten einen alten Schlüssel gefunden.",
            "verb_end": "Ich glaube nicht, dass er morgen kommen kann.",
            "compound": "Die Donaudampfschifffahrtsgesellschaft sucht einen neuen Kapitän.",
            "idiom": "Ich verstehe nur Bahnhof.",
            "name": "Frau Wieczorek aus Castrop-Rauxel spielt Geige.",
            "number": "Am 3. Oktober 1990 feierten 1,5 Millionen Menschen.",
            "unknown": "Der Flumpel hat den Zwörk gegrunzelt.",
            "pronoun": "Das Tier überquerte die Straße nicht, weil es zu müde war.",
            "ambiguous": "Sie saß auf der Bank vor der Bank und zählte ihr Geld.",
            "two_parts": "Er ruft seine Mutter jeden Sonntag nach dem Essen an.",
        },
    ),
    _opus(
        "fr-en",
        "b4a9a384c2ec68a224bbd2ee3fd5df0c71ca5b1b",
        "apache-2.0",
        301,
        {
            "word_order": "La vieille maison rouge au bord de la rivière est à vendre.",
            "clitics": "Je le lui ai déjà donné hier soir.",
            "negation": "Je n’ai jamais rien vu d’aussi beau.",
            "idiom": "Il pleut des cordes.",
            "name": "Madame Lefebvre habite à Quimperlé depuis l’enfance.",
            "number": "Mon grand-père a quatre-vingt-dix-sept ans.",
            "unknown": "Le schmurtz a glabouillé dans le tiroir.",
            "pronoun": "L’animal n’a pas traversé la rue parce qu’il était trop fatigué.",
            "ambiguous": "L’avocat a mangé un avocat avant l’audience.",
            "many_to_few": "Qu’est-ce que c’est que ça ?",
        },
    ),
    _opus(
        "zh-en",
        "cf109095479db38d6df799875e34039d4938aaa6",
        "cc-by-4.0",
        312,
        {
            "word_order": "我昨天在图书馆借了一本关于鸟的书。",
            "relative": "坐在窗边看书的那个女孩是我妹妹。",
            "no_spaces": "南京市长江大桥今天通车。",
            "idiom": "他这样做是画蛇添足。",
            "name": "约翰内斯·勃拉姆斯出生在汉堡。",
            "number": "这座城市有三千二百万人口。",
            "unknown": "龘靐齉爩是很少见的字。",
            "left_out": "吃饭了吗？",
            "ambiguous": "银行门口的行人很多。",
            "measure": "他买了三张票、两条鱼和一匹马。",
        },
    ),
    _opus(
        "en-de",
        "6183067f769a302e3861815543b9f312c71b0ca4",
        "cc-by-4.0",
        298,
        {
            "word_order": "Yesterday my sister found an old key in the garden.",
            "verb_end": "I do not think that he can come tomorrow.",
            "into_compound": "The speed limit on this motorway was lifted last year.",
            "idiom": "It is raining cats and dogs.",
            "name": "Mr Featherstonehaugh lives in Loughborough.",
            "number": "In 1969 the rocket weighed 2,938,315 kilograms.",
            "unknown": "The wug glorped the frindle.",
            "pronoun": "The animal didn’t cross the street because it was too wide.",
            "ambiguous": "She sat on the bank of the river and counted the money from the bank.",
            "politeness": "Can you help me, Professor Schmidt?",
        },
    ),
    _opus(
        "en-zh",
        "408d9bc410a388e1d9aef112a2daba955b945255",
        "apache-2.0",
        312,
        {
            "word_order": "I borrowed a book about birds from the library yesterday.",
            "relative": "The girl who is reading by the window is my sister.",
            "script": ">>cmn_Hant<< The library opens at nine.",
            "idiom": "Let’s call it a day.",
            "name": "Johannes Brahms was born in Hamburg.",
            "number": "The city has 32 million inhabitants.",
            "unknown": "The wug glorped the frindle.",
            "pronoun": "The animal didn’t cross the street because it was too tired.",
            "ambiguous": "She sat on the bank of the river and counted the money from the bank.",
            "measure": "He bought three tickets, two fish and a horse.",
        },
    ),
)
DEFAULT = ", ".join(model.checkpoint for model in OPUS)


def examples_for(languages: tuple[str, ...]) -> tuple[Example, ...]:
    """Sentences for any model of two languages."""
    return next((model.examples for model in OPUS if model.languages == languages), IN_ANY_LANGUAGE)

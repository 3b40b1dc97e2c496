"""The words of the classroom: how German inflects them, and their English. Knows nothing of sentences.

In German spelling. The model reads them folded (vocabulary.py), where only Morgen and morgen become the same word.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..vocabulary import fold

Case = Literal["nom", "acc", "dat"]
Gender = Literal["m", "f", "n", "pl"]  # in the plural, German has one gender

# Persons, as the columns of every table of forms: ich, er/sie, wir/sie (plural).
ICH, ER, WIR = range(3)


class Lexeme:
    """A word with all its German forms."""

    def spellings(self) -> tuple[str, ...]:
        raise NotImplementedError

    @cached_property
    def forms(self) -> frozenset[str]:
        """Folded, as a model reads them."""
        return frozenset(fold(word) for spelling in self.spellings() for word in spelling.split())

    def may_occur_in(self, words: frozenset[str]) -> bool:
        """Whether a sentence of these folded words may hold it."""
        return not self.forms.isdisjoint(words)


@dataclass(frozen=True)
class Noun(Lexeme):
    gender: Gender
    singular: str
    plural: str
    english: str
    english_plural: str
    kind: str

    def spellings(self) -> tuple[str, ...]:
        return self.singular, self.plural


@dataclass(frozen=True)
class Adjective(Lexeme):
    base: str
    english: str
    kinds: str  # of nouns that it can describe; "self" for a pronoun

    def spellings(self) -> tuple[str, ...]:
        return (self.base, *(self.stem + ending for ending in ("e", "en", "er", "es")))

    @property
    def stem(self) -> str:
        return self.base.removesuffix("e")


@dataclass(frozen=True)
class Verb(Lexeme):
    """A verb; a separable one is written "auf+machen"."""

    written: str
    finite: str  # ich and er; wir is the infinitive
    participle: str
    english: str  # base, third person, past, participle; "look·for" is two words
    objects: str = ""  # kinds of nouns that it takes; none if intransitive
    case: Case = "acc"  # of the object
    animal_subject: bool = False  # animals do it too
    auxiliary: str = "haben"  # of the perfect
    recipient: bool = False  # also takes a person in the dative
    takes_place: bool = True  # happens somewhere
    is_motion: bool = False  # goes home instead
    is_state: bool = False  # the only modal it takes is "will"

    @property
    def particle(self) -> str:
        return self.written.partition("+")[0] if "+" in self.written else ""

    @property
    def infinitive(self) -> str:
        return self.written.replace("+", "")

    @property
    def takes(self) -> list[tuple[Case, str]]:
        """Its objects in German order: case and kinds of nouns."""
        recipient: list[tuple[Case, str]] = [("dat", "person")] if self.recipient else []
        return recipient + ([(self.case, self.objects)] if self.objects else [])

    @property
    def base(self) -> str:
        return self._english(0)

    @property
    def third(self) -> str:
        return self._english(1)

    @property
    def past(self) -> str:
        return self._english(2)

    @property
    def past_participle(self) -> str:
        return self._english(3)

    def _english(self, column: int) -> str:
        return self.english.split()[column].replace("·", " ")

    def present(self, person: int) -> str:
        return (*self.finite.split(), self.written.rpartition("+")[2])[person]

    def spellings(self) -> tuple[str, ...]:
        apart = [self.present(person) for person in range(3)]
        together = [self.particle + form for form in apart]
        return (*apart, *together, *([self.particle] if self.particle else []), self.infinitive, self.participle)


@dataclass(frozen=True)
class Modal(Lexeme):
    finite: str  # ich, er, wir
    english: str  # before an infinitive; what follows "/" is the third person
    negated: str

    def spellings(self) -> tuple[str, ...]:
        return tuple(self.finite.split())


@dataclass(frozen=True)
class Adverb(Lexeme):
    """Uninflected words: when, where, why.

    `links` holds for each English word the German words (from 0) that it translates.
    """

    german: str
    english: str
    links: tuple[tuple[int, ...], ...] = ((0,),)

    def spellings(self) -> tuple[str, ...]:
        return (self.german,)

    def may_occur_in(self, words: frozenset[str]) -> bool:
        return self.forms <= words


@dataclass(frozen=True)
class Negation(Lexeme):
    german: str

    def spellings(self) -> tuple[str, ...]:
        return tuple(self.german.split())


NOUNS = (
    Noun("m", "Mann", "Männer", "man", "men", "person"),
    Noun("m", "Freund", "Freunde", "friend", "friends", "person"),
    Noun("m", "Lehrer", "Lehrer", "teacher", "teachers", "person"),
    Noun("m", "Sohn", "Söhne", "son", "sons", "person"),
    Noun("f", "Frau", "Frauen", "woman", "women", "person"),
    Noun("f", "Schwester", "Schwestern", "sister", "sisters", "person"),
    Noun("f", "Ärztin", "Ärztinnen", "doctor", "doctors", "person"),
    Noun("n", "Kind", "Kinder", "child", "children", "person"),
    Noun("n", "Mädchen", "Mädchen", "girl", "girls", "person"),
    Noun("m", "Hund", "Hunde", "dog", "dogs", "animal"),
    Noun("f", "Katze", "Katzen", "cat", "cats", "animal"),
    Noun("n", "Bier", "Biere", "beer", "beers", "drink"),
    Noun("m", "Saft", "Säfte", "juice", "juices", "drink"),
    Noun("m", "Kaffee", "Kaffees", "coffee", "coffees", "drink"),
    Noun("f", "Cola", "Colas", "coke", "cokes", "drink"),
    Noun("m", "Salat", "Salate", "salad", "salads", "food"),
    Noun("f", "Orange", "Orangen", "orange", "oranges", "food"),
    Noun("f", "Suppe", "Suppen", "soup", "soups", "food"),
    Noun("n", "Ei", "Eier", "egg", "eggs", "food"),
    Noun("n", "Buch", "Bücher", "book", "books", "text"),
    Noun("m", "Brief", "Briefe", "letter", "letters", "text"),
    Noun("f", "Zeitung", "Zeitungen", "newspaper", "newspapers", "news"),
    Noun("m", "Ball", "Bälle", "ball", "balls", "thing"),
    Noun("n", "Auto", "Autos", "car", "cars", "thing"),
    Noun("m", "Stuhl", "Stühle", "chair", "chairs", "thing"),
    Noun("f", "Tür", "Türen", "door", "doors", "opening"),
    Noun("n", "Fenster", "Fenster", "window", "windows", "opening"),
)

ADJECTIVES = (
    Adjective("kalt", "cold", "drink food"),
    Adjective("warm", "warm", "drink food"),
    Adjective("frisch", "fresh", "drink food"),
    Adjective("billig", "cheap", "drink food text news thing"),
    Adjective("gut", "good", "drink food text news person"),
    Adjective("groß", "big", "food animal thing opening"),
    Adjective("klein", "small", "food person animal thing opening"),
    Adjective("alt", "old", "text news person animal thing opening"),
    Adjective("neu", "new", "text news thing opening"),
    Adjective("rot", "red", "thing opening"),
    Adjective("jung", "young", "person animal self"),
    Adjective("müde", "tired", "person animal self"),
    Adjective("hungrig", "hungry", "person animal self"),
)

TEMPORARY = ("kalt", "warm", "müde", "hungrig")  # states that pass: they go with "heute" and "jetzt"

GOODS = "drink food text news thing"
VERBS = (
    Verb("trinken", "trinke trinkt", "getrunken", "drink drinks drank drunk", "drink", animal_subject=True),
    Verb("essen", "esse isst", "gegessen", "eat eats ate eaten", "food", animal_subject=True),
    Verb("lesen", "lese liest", "gelesen", "read reads read read", "text news"),
    Verb("schreiben", "schreibe schreibt", "geschrieben", "write writes wrote written", "text"),
    Verb("kaufen", "kaufe kauft", "gekauft", "buy buys bought bought", f"{GOODS} animal"),
    Verb("verkaufen", "verkaufe verkauft", "verkauft", "sell sells sold sold", f"{GOODS} animal"),
    Verb("brauchen", "brauche braucht", "gebraucht", "need needs needed needed", f"{GOODS} person", takes_place=False,
         is_state=True),
    Verb("sehen", "sehe sieht", "gesehen", "see sees saw seen", f"{GOODS} person animal", animal_subject=True),
    Verb("finden", "finde findet", "gefunden", "find finds found found", f"{GOODS} person animal", animal_subject=True),
    Verb("suchen", "suche sucht", "gesucht", "look·for looks·for looked·for looked·for",
         f"{GOODS} person animal", animal_subject=True),
    Verb("auf+machen", "mache macht", "aufgemacht", "open opens opened opened", "opening"),
    Verb("zu+machen", "mache macht", "zugemacht", "close closes closed closed", "opening"),
    Verb("an+rufen", "rufe ruft", "angerufen", "call calls called called", "person", takes_place=False),
    Verb("mit+bringen", "bringe bringt", "mitgebracht", "bring brings brought brought", GOODS, takes_place=False),
    Verb("helfen", "helfe hilft", "geholfen", "help helps helped helped", "person animal", case="dat"),
    Verb("geben", "gebe gibt", "gegeben", "give gives gave given", GOODS, recipient=True, takes_place=False),
    Verb("zeigen", "zeige zeigt", "gezeigt", "show shows showed shown", f"{GOODS} animal", recipient=True,
         takes_place=False),
    Verb("schlafen", "schlafe schläft", "geschlafen", "sleep sleeps slept slept", animal_subject=True),
    Verb("spielen", "spiele spielt", "gespielt", "play plays played played", animal_subject=True),
    Verb("arbeiten", "arbeite arbeitet", "gearbeitet", "work works worked worked"),
    Verb("warten", "warte wartet", "gewartet", "wait waits waited waited", animal_subject=True),
    Verb("gehen", "gehe geht", "gegangen", "go goes went gone", auxiliary="sein", is_motion=True),
    Verb("kommen", "komme kommt", "gekommen", "come comes came come", auxiliary="sein", is_motion=True,
         animal_subject=True),
)  # fmt: skip

CLAUSE_VERBS = (  # what a dass-clause follows
    Verb("wissen", "weiß weiß", "gewusst", "know knows knew known"),
    Verb("glauben", "glaube glaubt", "geglaubt", "think thinks thought thought"),
    Verb("sagen", "sage sagt", "gesagt", "say says said said"),
    Verb("hoffen", "hoffe hofft", "gehofft", "hope hopes hoped hoped"),
)

AUXILIARIES = {"haben": "habe hat haben", "sein": "bin ist sind"}
COPULA = Verb("sein", "bin ist", "gewesen", "be is was been", takes_place=False)
WISH_VERB = Verb(
    "möchten", "möchte möchte", "gemocht", "like likes liked liked", "drink food text thing", takes_place=False
)

WILL = Modal("werde wird werden", "will", "will not")
MODALS = (
    Modal("kann kann können", "can", "cannot"),
    Modal("soll soll sollen", "should", "should not"),
    WILL,
    Modal("will will wollen", "want to/wants to", "do not want to/does not want to"),
    Modal("muss muss müssen", "have to/has to", "do not have to/does not have to"),
    Modal("möchte möchte möchten", "would like to", "would not like to"),
)
WISH_MODAL = Modal(
    "möchte möchte möchten", "would like", "do not want/does not want"
)  # with an object and no infinitive

TODAY, NOW, TOMORROW = Adverb("heute", "today"), Adverb("jetzt", "now"), Adverb("morgen", "tomorrow")
YESTERDAY, ALREADY = Adverb("gestern", "yesterday"), Adverb("schon", "already")
OFTEN, ALWAYS, SOMETIMES = Adverb("oft", "often"), Adverb("immer", "always"), Adverb("manchmal", "sometimes")
MORNING = Adverb("am Morgen", "in the morning", ((0,), (0,), (1,)))
EVENING = Adverb("am Abend", "in the evening", ((0,), (0,), (1,)))
PLACES = (
    Adverb("im Garten", "in the garden", ((0,), (0,), (1,))),
    Adverb("im Park", "in the park", ((0,), (0,), (1,))),
    Adverb("in der Küche", "in the kitchen", ((0,), (1,), (2,))),
    Adverb("in der Schule", "at school", ((0,), (1, 2))),
    Adverb("zu Hause", "at home", ((0,), (1,))),
)
HOME = Adverb("nach Hause", "home", ((0, 1),))
BECAUSE, THAT = Adverb("weil", "because"), Adverb("dass", "that")
NICHT, KEIN = Negation("nicht"), Negation("kein keine keinen")

SUBJECTS = (("ich", "i", ICH), ("er", "he", ER), ("sie", "she", ER), ("wir", "we", WIR),
            ("sie", "they", WIR))  # fmt: skip
OBJECTS: dict[Case, tuple[tuple[str, str, int], ...]] = {  # sie and ihr could be several people: left out
    "acc": (("mich", "me", ICH), ("ihn", "him", ER), ("uns", "us", WIR)),
    "dat": (("mir", "me", ICH), ("ihm", "him", ER), ("uns", "us", WIR)),
}


def unsuitable_determiners(noun: Noun) -> tuple[str, ...]:
    """Determiners that change the meaning: "mein Mann" is a husband, "mein Mädchen" a sweetheart."""
    return ("mein",) if noun.singular in ("Mann", "Frau", "Mädchen") else ()


def can_be_object_of(subject: int, other: int) -> bool:
    """Whether a pronoun of this person can be the object: not ich and mich, nor ich and uns."""
    return subject != other and {subject, other} != {ICH, WIR}


THE: dict[Case, dict[Gender, str]] = {
    "nom": {"m": "der", "f": "die", "n": "das", "pl": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "pl": "die"},
    "dat": {"m": "dem", "f": "der", "n": "dem"},
}
A: dict[Case, dict[Gender, str]] = {  # endings of ein, mein and kein
    "nom": {"m": "", "f": "e", "n": "", "pl": "e"},
    "acc": {"m": "en", "f": "e", "n": "", "pl": "e"},
    "dat": {"m": "em", "f": "er", "n": "em"},
}
NUMBERS = {"zwei": "two", "drei": "three"}


def adjective_ending(determiner: str, case: Case, gender: Gender) -> str:
    """Of an adjective after der, after ein, mein or kein, or after a number."""
    if determiner in ("ein", "mein", "kein") and gender != "pl" and case != "dat":
        return {"m": "er" if case == "nom" else "en", "f": "e", "n": "es"}[gender]
    if determiner == "der" and gender != "pl" and case != "dat":
        return "en" if (case, gender) == ("acc", "m") else "e"
    return "en" if determiner in ("der", "ein", "mein", "kein") else "e"

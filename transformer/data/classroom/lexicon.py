"""The words of the classroom: how German inflects them, and their English. Knows nothing of sentences.

In German spelling. The model reads them in lower case, where Morgen and morgen become the same word.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..vocabulary import lower

Case = Literal["nom", "acc", "dat"]
Gender = Literal["m", "f", "n", "pl"]  # in the plural, German has one gender

# Persons, as the columns of every table of forms: ich, er/sie/es, wir/sie (plural)/Sie, du.
ICH, ER, WIR, DU = range(4)


class Lexeme:
    """A word with all its German forms."""

    def spellings(self) -> tuple[str, ...]:
        raise NotImplementedError

    @cached_property
    def forms(self) -> frozenset[str]:
        """In lower case, as a model reads them."""
        return frozenset(lower(word) for spelling in self.spellings() for word in spelling.split())

    def may_occur_in(self, words: frozenset[str]) -> bool:
        """Whether a sentence of these words may hold it."""
        return not self.forms.isdisjoint(words)


@dataclass(frozen=True)
class Noun(Lexeme):
    gender: Gender
    singular: str
    plural: str
    english: str
    english_plural: str
    kind: str
    is_mass: bool = False  # "juice", "not any juice", not "a juice"

    def spellings(self) -> tuple[str, ...]:
        return (self.singular, self.plural) if self.plural else (self.singular,)


@dataclass(frozen=True)
class Adjective(Lexeme):
    base: str
    english: str
    kinds: str  # of nouns that it can describe; "self" for a pronoun

    def spellings(self) -> tuple[str, ...]:
        return (self.base, *(self.stem + ending for ending in ("e", "en", "er", "es")))

    @property
    def stem(self) -> str:
        return "teur" if self.base == "teuer" else self.base.removesuffix("e")


@dataclass(frozen=True)
class Verb(Lexeme):
    """A verb; a separable one is written "auf+machen"."""

    written: str
    finite: str  # ich and er; wir is the infinitive, and du follows from er
    participle: str
    english: str  # base, third person, past, participle; "look·for" is two words
    objects: str = ""  # kinds of nouns that it takes; none if intransitive
    case: Case = "acc"  # of the object
    animal_subject: bool = False  # animals do it too
    auxiliary: str = "haben"  # of the perfect
    recipient: bool = False  # also takes a person in the dative
    takes_place: bool = True  # happens somewhere
    needs_place: bool = False  # always says where
    is_motion: bool = False  # goes home instead, or elsewhere
    is_weather: bool = False  # its subject is "es"
    is_state: bool = False  # the only modal it takes is "will", and the only perfect that of yesterday
    has_progressive: bool = True  # "is drinking", but not "is seeing"
    only_present: bool = False
    takes_people: bool = True  # whether a pronoun may stand for an object of kind "person"

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

    @property
    def progressive(self) -> str:
        first, *others = self.base.split()
        stem = first + first[-1] if first in ("get", "swim") else first.removesuffix("e")
        return " ".join([stem + "ing", *others])

    def _english(self, column: int) -> str:
        return self.english.split()[column].replace("·", " ")

    def present(self, person: int) -> str:
        er = self.finite.split()[ER]
        stem = er.removesuffix("t")
        du = stem + ("t" if stem[-1] in "sßz" else "st")
        return (*self.finite.split(), self.written.rpartition("+")[2], du)[person]

    def spellings(self) -> tuple[str, ...]:
        apart = [self.present(person) for person in range(4)]
        together = [self.particle + form for form in apart]
        return (*apart, *together, *([self.particle] if self.particle else []), self.infinitive, self.participle)


@dataclass(frozen=True)
class Modal(Lexeme):
    finite: str  # ich, er, wir, du
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


def aligned(german: str, english: str) -> Adverb:
    """An adverbial in which every English word names the German ones that it translates: "home=nach+Hause"."""
    places = {word: i for i, word in enumerate(german.split())}
    words = [word.split("=") for word in english.split()]
    links = tuple(tuple(places[word] for word in linked.split("+")) for _, linked in words)
    return Adverb(german, " ".join(word for word, _ in words), links)


def adverbs(words: Mapping[str, str]) -> tuple[Adverb, ...]:
    """Of one word each: English by German."""
    return tuple(Adverb(german, english) for german, english in words.items())


@dataclass(frozen=True)
class Negation(Lexeme):
    german: str

    def spellings(self) -> tuple[str, ...]:
        return tuple(self.german.split())


NOUNS = (
    Noun("m", "Mann", "Männer", "man", "men", "person"),
    Noun("m", "Freund", "Freunde", "friend", "friends", "person"),
    Noun("f", "Freundin", "Freundinnen", "friend", "friends", "person"),
    Noun("m", "Lehrer", "Lehrer", "teacher", "teachers", "person"),
    Noun("m", "Sohn", "Söhne", "son", "sons", "person"),
    Noun("f", "Frau", "Frauen", "woman", "women", "person"),
    Noun("m", "Mann", "", "husband", "", "person"),  # mein Mann
    Noun("f", "Frau", "", "wife", "", "person"),
    Noun("f", "Schwester", "Schwestern", "sister", "sisters", "person"),
    Noun("f", "Ärztin", "Ärztinnen", "doctor", "doctors", "person"),
    Noun("m", "Arzt", "Ärzte", "doctor", "doctors", "person"),
    Noun("f", "Familie", "", "family", "", "person"),
    Noun("n", "Kind", "Kinder", "child", "children", "person"),
    Noun("n", "Mädchen", "Mädchen", "girl", "girls", "person"),
    Noun("m", "Vater", "", "father", "", "person"),
    Noun("f", "Mutter", "", "mother", "", "person"),
    Noun("m", "Bruder", "Brüder", "brother", "brothers", "person"),
    Noun("f", "Tochter", "Töchter", "daughter", "daughters", "person"),
    Noun("f", "Oma", "", "grandma", "", "person"),
    Noun("m", "Opa", "", "grandpa", "", "person"),
    Noun("m", "Hund", "Hunde", "dog", "dogs", "animal"),
    Noun("f", "Katze", "Katzen", "cat", "cats", "animal"),
    Noun("n", "Bier", "Biere", "beer", "beers", "drink", is_mass=True),
    Noun("m", "Saft", "Säfte", "juice", "juices", "drink", is_mass=True),
    Noun("m", "Kaffee", "Kaffees", "coffee", "coffees", "drink", is_mass=True),
    Noun("f", "Cola", "Colas", "coke", "cokes", "drink", is_mass=True),
    Noun("n", "Wasser", "", "water", "", "drink", is_mass=True),
    Noun("m", "Tee", "Tees", "tea", "teas", "drink", is_mass=True),
    Noun("m", "Wein", "Weine", "wine", "wines", "drink", is_mass=True),
    Noun("f", "Milch", "", "milk", "", "drink", is_mass=True),
    Noun("m", "Salat", "Salate", "salad", "salads", "food", is_mass=True),
    Noun("f", "Orange", "Orangen", "orange", "oranges", "food"),
    Noun("f", "Suppe", "Suppen", "soup", "soups", "food", is_mass=True),
    Noun("f", "Banane", "Bananen", "banana", "bananas", "food"),
    Noun("f", "Kartoffel", "Kartoffeln", "potato", "potatoes", "food"),
    Noun("n", "Ei", "Eier", "egg", "eggs", "food"),
    Noun("m", "Apfel", "Äpfel", "apple", "apples", "food"),
    Noun("n", "Brot", "", "bread", "", "food", is_mass=True),
    Noun("m", "Käse", "", "cheese", "", "food", is_mass=True),
    Noun("m", "Kuchen", "Kuchen", "cake", "cakes", "food", is_mass=True),
    Noun("f", "Pizza", "Pizzas", "pizza", "pizzas", "food", is_mass=True),
    Noun("n", "Fleisch", "", "meat", "", "food", is_mass=True),
    Noun("m", "Reis", "", "rice", "", "food", is_mass=True),
    Noun("f", "Schokolade", "", "chocolate", "", "food", is_mass=True),
    Noun("n", "Eis", "", "ice·cream", "", "food", is_mass=True),
    Noun("n", "Buch", "Bücher", "book", "books", "text"),
    Noun("m", "Brief", "Briefe", "letter", "letters", "letter"),
    Noun("f", "Zeitung", "Zeitungen", "newspaper", "newspapers", "news"),
    Noun("m", "Ball", "Bälle", "ball", "balls", "thing"),
    Noun("n", "Auto", "Autos", "car", "cars", "thing"),
    Noun("m", "Stuhl", "Stühle", "chair", "chairs", "thing"),
    Noun("m", "Tisch", "Tische", "table", "tables", "thing"),
    Noun("n", "Handy", "Handys", "phone", "phones", "thing"),
    Noun("n", "Fahrrad", "Fahrräder", "bicycle", "bicycles", "thing"),
    Noun("f", "Tasche", "Taschen", "bag", "bags", "thing"),
    Noun("m", "Schlüssel", "Schlüssel", "key", "keys", "thing"),
    Noun("m", "Schuh", "Schuhe", "shoe", "shoes", "thing"),
    Noun("f", "Jacke", "Jacken", "jacket", "jackets", "thing"),
    Noun("n", "Bild", "Bilder", "picture", "pictures", "thing"),
    Noun("n", "Bett", "Betten", "bed", "beds", "thing"),
    Noun("m", "Computer", "Computer", "computer", "computers", "thing"),
    Noun("f", "Blume", "Blumen", "flower", "flowers", "thing"),
    Noun("n", "Haus", "Häuser", "house", "houses", "building"),
    Noun("n", "Zimmer", "Zimmer", "room", "rooms", "building"),
    Noun("f", "Wohnung", "Wohnungen", "apartment", "apartments", "building"),
    Noun("m", "Bahnhof", "", "train·station", "", "place"),
    Noun("n", "Hotel", "", "hotel", "", "place"),
    Noun("n", "Restaurant", "", "restaurant", "", "place"),
    Noun("m", "Supermarkt", "", "supermarket", "", "place"),
    Noun("f", "Toilette", "", "toilet", "", "place"),
    Noun("n", "Kino", "", "cinema", "", "place"),
    Noun("f", "Schule", "", "school", "", "place"),
    Noun("f", "Stadt", "", "city", "", "place"),
    Noun("f", "Apotheke", "", "pharmacy", "", "place"),
    Noun("f", "Bank", "", "bank", "", "place"),
    Noun("n", "Museum", "", "museum", "", "place"),
    Noun("n", "Krankenhaus", "", "hospital", "", "place"),
    Noun("m", "Flughafen", "", "airport", "", "place"),
    Noun("n", "Café", "", "café", "", "place"),
    Noun("n", "Deutsch", "", "german", "", "language", is_mass=True),
    Noun("n", "Englisch", "", "english", "", "language", is_mass=True),
    Noun("n", "Spanisch", "", "spanish", "", "language", is_mass=True),
    Noun("m", "Fußball", "", "football", "", "game", is_mass=True),
    Noun("n", "Tennis", "", "tennis", "", "game", is_mass=True),
    Noun("f", "Musik", "", "music", "", "music", is_mass=True),
    Noun("f", "Zeit", "", "time", "", "need", is_mass=True),
    Noun("n", "Geld", "", "money", "", "need", is_mass=True),
    Noun("f", "Hilfe", "", "help", "", "need", is_mass=True),
    Noun("f", "Tür", "Türen", "door", "doors", "opening"),
    Noun("n", "Fenster", "Fenster", "window", "windows", "opening"),
)

ADJECTIVES = (
    Adjective("kalt", "cold", "drink food weather"),
    Adjective("warm", "warm", "drink food weather"),
    Adjective("heiß", "hot", "drink food weather"),
    Adjective("frisch", "fresh", "drink food"),
    Adjective("lecker", "delicious", "drink food"),
    Adjective("billig", "cheap", "drink food text news thing place"),
    Adjective("teuer", "expensive", "drink food text news thing building place"),
    Adjective("gut", "good", "drink food text letter news person place"),
    Adjective("schlecht", "bad", "food drink text news"),
    Adjective("schön", "beautiful", "animal thing building place text letter weather"),
    Adjective("groß", "big", "food animal thing opening building place"),
    Adjective("klein", "small", "food person animal thing opening building place"),
    Adjective("alt", "old", "text letter news person animal thing opening building place"),
    Adjective("neu", "new", "text letter news thing opening building place"),
    Adjective("rot", "red", "thing opening building"),
    Adjective("blau", "blue", "thing opening building"),
    Adjective("grün", "green", "thing opening building"),
    Adjective("schwarz", "black", "thing opening building"),
    Adjective("kaputt", "broken", "thing opening"),
    Adjective("toll", "great", "text letter person thing building place weather"),
    Adjective("interessant", "interesting", "text letter news"),
    Adjective("wichtig", "important", "text letter news"),
    Adjective("langweilig", "boring", "text letter news"),
    Adjective("lustig", "funny", "text letter person self"),
    Adjective("jung", "young", "person animal self"),
    Adjective("nett", "nice", "person self"),
    Adjective("müde", "tired", "person animal self"),
    Adjective("hungrig", "hungry", "person animal self"),
    Adjective("krank", "sick", "person animal self"),
    Adjective("glücklich", "happy", "person animal self"),
    Adjective("traurig", "sad", "person animal self"),
)

UNSUITABLE_ADJECTIVES = {  # that a noun's kind would allow: adults are short, not small
    **dict.fromkeys(
        ("Mann", "Freund", "Lehrer", "Frau", "Ärztin", "Arzt", "Vater", "Mutter", "Oma", "Freundin"), ("klein",)
    ),
    **dict.fromkeys(("Kind", "Mädchen"), ("alt",)),
    **dict.fromkeys(("Suppe", "Brot", "Käse", "Fleisch", "Reis", "Schokolade", "Eis"), ("groß", "klein")),
    **dict.fromkeys(("Oma", "Opa"), ("jung", "klein")),
    "Toilette": ("billig", "teuer", "gut", "schön", "toll"),
    **dict.fromkeys(("Stadt", "Schule", "Bahnhof", "Bank", "Krankenhaus", "Flughafen"), ("billig", "teuer", "neu")),
}

# States that pass: they go with "heute" and "jetzt".
TEMPORARY = ("kalt", "warm", "heiß", "müde", "hungrig", "krank", "glücklich", "traurig")
LIVING = ("person", "animal")
WITHOUT_ARTICLE = {"language", "game", "music", "need"}  # kinds of nouns

GOODS = "drink food text news thing"
BELONGINGS = f"{GOODS} letter"  # one does not buy letters
VERBS = (
    Verb("trinken", "trinke trinkt", "getrunken", "drink drinks drank drunk", "drink"),
    Verb("essen", "esse isst", "gegessen", "eat eats ate eaten", "food", animal_subject=True),
    Verb("lesen", "lese liest", "gelesen", "read reads read read", "text letter news"),
    Verb("schreiben", "schreibe schreibt", "geschrieben", "write writes wrote written", "text letter"),
    Verb("kaufen", "kaufe kauft", "gekauft", "buy buys bought bought", f"{GOODS} animal building"),
    Verb("verkaufen", "verkaufe verkauft", "verkauft", "sell sells sold sold", f"{GOODS} animal building"),
    Verb("brauchen", "brauche braucht", "gebraucht", "need needs needed needed", f"{BELONGINGS} person need",
         takes_place=False, is_state=True, has_progressive=False),
    Verb("sehen", "sehe sieht", "gesehen", "see sees saw seen", f"{BELONGINGS} person animal building place",
         animal_subject=True, has_progressive=False),
    Verb("finden", "finde findet", "gefunden", "find finds found found", f"{BELONGINGS} person animal",
         animal_subject=True, has_progressive=False),
    Verb("suchen", "suche sucht", "gesucht", "look·for looks·for looked·for looked·for",
         f"{BELONGINGS} person animal place", animal_subject=True),
    Verb("haben", "habe hat", "gehabt", "have has had had", f"{BELONGINGS} person animal building need",
         takes_place=False, is_state=True, has_progressive=False, takes_people=False),
    Verb("mögen", "mag mag", "gemocht", "like likes liked liked", f"{GOODS} person animal music", takes_place=False,
         is_state=True, only_present=True, has_progressive=False),
    Verb("lieben", "liebe liebt", "geliebt", "love loves loved loved", "person animal music food", takes_place=False,
         is_state=True, only_present=True, has_progressive=False),
    Verb("kennen", "kenne kennt", "gekannt", "know knows knew known", "person place", takes_place=False, is_state=True,
         only_present=True, has_progressive=False),
    Verb("vermissen", "vermisse vermisst", "vermisst", "miss misses missed missed", "person animal", takes_place=False,
         is_state=True, only_present=True, has_progressive=False),
    Verb("vergessen", "vergesse vergisst", "vergessen", "forget forgets forgot forgotten", BELONGINGS,
         takes_place=False, has_progressive=False),
    Verb("fragen", "frage fragt", "gefragt", "ask asks asked asked", "person", takes_place=False),
    Verb("besuchen", "besuche besucht", "besucht", "visit visits visited visited", "person", takes_place=False),
    Verb("verstehen", "verstehe versteht", "verstanden", "understand understands understood understood",
         "person text language", takes_place=False, is_state=True, has_progressive=False),
    Verb("sprechen", "spreche spricht", "gesprochen", "speak speaks spoke spoken", "language", has_progressive=False),
    Verb("lernen", "lerne lernt", "gelernt", "learn learns learned learned", "language"),
    Verb("spielen", "spiele spielt", "gespielt", "play plays played played", "game"),
    Verb("hören", "höre hört", "gehört", "listen·to listens·to listened·to listened·to", "music"),
    Verb("machen", "mache macht", "gemacht", "do does did done", "deed"),
    Verb("auf+machen", "mache macht", "aufgemacht", "open opens opened opened", "opening"),
    Verb("zu+machen", "mache macht", "zugemacht", "close closes closed closed", "opening"),
    Verb("an+rufen", "rufe ruft", "angerufen", "call calls called called", "person", takes_place=False),
    Verb("mit+bringen", "bringe bringt", "mitgebracht", "bring brings brought brought", BELONGINGS, takes_place=False),
    Verb("helfen", "helfe hilft", "geholfen", "help helps helped helped", "person animal", case="dat"),
    Verb("geben", "gebe gibt", "gegeben", "give gives gave given", BELONGINGS, recipient=True, takes_place=False),
    Verb("zeigen", "zeige zeigt", "gezeigt", "show shows showed shown", f"{BELONGINGS} animal", recipient=True,
         takes_place=False),
    Verb("schlafen", "schlafe schläft", "geschlafen", "sleep sleeps slept slept", animal_subject=True),
    Verb("spielen", "spiele spielt", "gespielt", "play plays played played", animal_subject=True),
    Verb("treffen", "treffe trifft", "getroffen", "meet meets met met", "person"),
    Verb("auf+stehen", "stehe steht", "aufgestanden", "get·up gets·up got·up got·up", auxiliary="sein"),
    Verb("bezahlen", "bezahle bezahlt", "bezahlt", "pay pays paid paid"),
    Verb("bleiben", "bleibe bleibt", "geblieben", "stay stays stayed stayed", auxiliary="sein", needs_place=True),
    Verb("schneien", "schneie schneit", "geschneit", "snow snows snowed snowed", is_weather=True),
    Verb("kochen", "koche kocht", "gekocht", "cook cooks cooked cooked"),
    Verb("tanzen", "tanze tanzt", "getanzt", "dance dances danced danced"),
    Verb("wohnen", "wohne wohnt", "gewohnt", "live lives lived lived", needs_place=True, has_progressive=False),
    Verb("singen", "singe singt", "gesungen", "sing sings sang sung"),
    Verb("lachen", "lache lacht", "gelacht", "laugh laughs laughed laughed"),
    Verb("schwimmen", "schwimme schwimmt", "geschwommen", "swim swims swam swum", auxiliary="sein",
         animal_subject=True),
    Verb("fern+sehen", "sehe sieht", "ferngesehen", "watch·tv watches·tv watched·tv watched·tv"),
    Verb("regnen", "regne regnet", "geregnet", "rain rains rained rained", is_weather=True),
    Verb("arbeiten", "arbeite arbeitet", "gearbeitet", "work works worked worked"),
    Verb("warten", "warte wartet", "gewartet", "wait waits waited waited", animal_subject=True),
    Verb("gehen", "gehe geht", "gegangen", "go goes went gone", auxiliary="sein", is_motion=True),
    Verb("kommen", "komme kommt", "gekommen", "come comes came come", auxiliary="sein", is_motion=True,
         animal_subject=True),
    Verb("fahren", "fahre fährt", "gefahren", "go goes went gone", auxiliary="sein", is_motion=True),
)  # fmt: skip

CLAUSE_VERBS = (  # what a dass-clause follows
    Verb("wissen", "weiß weiß", "gewusst", "know knows knew known"),
    Verb("glauben", "glaube glaubt", "geglaubt", "think thinks thought thought"),
    Verb("sagen", "sage sagt", "gesagt", "say says said said"),
    Verb("hoffen", "hoffe hofft", "gehofft", "hope hopes hoped hoped"),
)

AUXILIARIES = {"haben": "habe hat haben hast", "sein": "bin ist sind bist"}
COPULA = Verb("sein", "bin ist", "gewesen", "be is was been", takes_place=False)
WISH_VERB = Verb(
    "möchten", "möchte möchte", "gemocht", "like likes liked liked", "drink food text thing", takes_place=False
)

WILL = Modal("werde wird werden wirst", "will", "will not")
SHOULD = Modal("soll soll sollen sollst", "should", "should not")
MUST = Modal("muss muss müssen musst", "have to/has to", "do not have to/does not have to")
MODALS = (
    Modal("kann kann können kannst", "can", "cannot"),
    SHOULD,
    WILL,
    Modal("will will wollen willst", "want to/wants to", "do not want to/does not want to"),
    MUST,
    Modal("möchte möchte möchten möchtest", "would like to", "would not like to"),
)
WISH_MODAL = Modal(
    "möchte möchte möchten möchtest", "would like", "do not want/does not want"
)  # with an object and no infinitive

TODAY, NOW, TOMORROW = Adverb("heute", "today"), Adverb("jetzt", "now"), Adverb("morgen", "tomorrow")
YESTERDAY, ALREADY = Adverb("gestern", "yesterday"), Adverb("schon", "already")
OFTEN, ALWAYS, SOMETIMES = Adverb("oft", "often"), Adverb("immer", "always"), Adverb("manchmal", "sometimes")
MORNING = aligned("am Morgen", "in=am the=am morning=Morgen")
EVENING = aligned("am Abend", "in=am the=am evening=Abend")
WEEKDAYS = tuple(
    aligned(f"am {german}", f"on=am {english}={german}")
    for german, english in {
        "Montag": "monday",
        "Dienstag": "tuesday",
        "Mittwoch": "wednesday",
        "Donnerstag": "thursday",
        "Freitag": "friday",
        "Samstag": "saturday",
        "Sonntag": "sunday",
    }.items()
)
HOURS = tuple(
    aligned(f"um {german} Uhr", f"at=um {english}={german} o'clock=Uhr")
    for german, english in {"drei": "three", "fünf": "five", "sieben": "seven", "acht": "eight", "zehn": "ten"}.items()
)
LATER = Adverb("später", "later")
GLADLY = Adverb("gern", "gladly")  # "likes to drink"

CITIES = adverbs({"Berlin": "berlin", "Hamburg": "hamburg", "Wien": "vienna", "München": "munich", "Paris": "paris"})
COUNTRIES = adverbs(
    {
        "Deutschland": "germany",
        "England": "england",
        "Spanien": "spain",
        "Frankreich": "france",
        "Österreich": "austria",
    }
)
NAMES = tuple(
    Adverb(name, name.lower()) for name in ("Anna", "Lisa", "Maria", "Emma", "Paul", "Max", "Peter", "Thomas")
)
PLACES = (
    aligned("im Garten", "in=im the=im garden=Garten"),
    aligned("im Park", "in=im the=im park=Park"),
    aligned("in der Küche", "in=in the=der kitchen=Küche"),
    aligned("in der Schule", "at=in school=der+Schule"),
    aligned("zu Hause", "at=zu home=Hause"),
    aligned("im Hotel", "in=im the=im hotel=Hotel"),
    aligned("im Restaurant", "in=im the=im restaurant=Restaurant"),
    aligned("im Supermarkt", "in=im the=im supermarket=Supermarkt"),
    aligned("in der Stadt", "in=in the=der city=Stadt"),
    aligned("im Büro", "in=im the=im office=Büro"),
    aligned("am Bahnhof", "at=am the=am train=Bahnhof station=Bahnhof"),
    aligned("vor dem Haus", "in=vor front=vor of=vor the=dem house=Haus"),
    aligned("hinter dem Haus", "behind=hinter the=dem house=Haus"),
    aligned("im Bett", "in=im bed=Bett"),
    aligned("am Strand", "at=am the=am beach=Strand"),
    aligned("an der Universität", "at=an the=der university=Universität"),
    aligned("hier", "here=hier"),
    *(aligned(f"in {each.german}", f"in=in {each.english}={each.german}") for each in (*CITIES, *COUNTRIES)),
)
ON_THINGS = (  # where things lie
    aligned("auf dem Tisch", "on=auf the=dem table=Tisch"),
    aligned("unter dem Tisch", "under=unter the=dem table=Tisch"),
    aligned("auf dem Stuhl", "on=auf the=dem chair=Stuhl"),
    aligned("unter dem Stuhl", "under=unter the=dem chair=Stuhl"),
    aligned("neben dem Auto", "next=neben to=neben the=dem car=Auto"),
    aligned("in der Tasche", "in=in the=der bag=Tasche"),
    aligned("hinter der Tür", "behind=hinter the=der door=Tür"),
)
HOME = aligned("nach Hause", "home=nach+Hause")
WALKS = (
    aligned("ins Bett", "to=ins bed=Bett"),
    aligned("ins Kino", "to=ins the=ins cinema=Kino"),
    aligned("ins Restaurant", "to=ins the=ins restaurant=Restaurant"),
    aligned("in den Park", "to=in the=den park=Park"),
    aligned("in die Stadt", "to=in the=die city=Stadt"),
    aligned("in die Schule", "to=in school=die+Schule"),
    aligned("zur Arbeit", "to=zur work=Arbeit"),
    aligned("zur Universität", "to=zur the=zur university=Universität"),
    aligned("zum Arzt", "to=zum the=zum doctor=Arzt"),
    aligned("zum Flughafen", "to=zum the=zum airport=Flughafen"),
    aligned("zum Bahnhof", "to=zum the=zum train=Bahnhof station=Bahnhof"),
)
RIDES = (
    *(aligned(f"nach {each.german}", f"to=nach {each.english}={each.german}") for each in (*CITIES, *COUNTRIES)),
    *WALKS[4:],
)
WHERE, WHEN, WHY = Adverb("wo", "where"), Adverb("wann", "when"), Adverb("warum", "why")
WHAT, WHO, WHERE_TO = Adverb("was", "what"), Adverb("wer", "who"), Adverb("wohin", "where")
QUESTION_WORDS = (WHERE, WHEN, WHY, WHAT, WHO, WHERE_TO)
VERY = Adverb("sehr", "very")
BECAUSE, THAT = Adverb("weil", "because"), Adverb("dass", "that")
NICHT, KEIN = Negation("nicht"), Negation("kein keine keinen")

SUBJECTS = (("ich", "i", ICH), ("er", "he", ER), ("sie", "she", ER), ("wir", "we", WIR),
            ("sie", "they", WIR), ("du", "you", DU))  # fmt: skip
ASKED = (("du", "you", DU), ("Sie", "you", WIR), ("er", "he", ER), ("sie", "she", ER), ("wir", "we", WIR))
IT = (("es", "it", ER),)
THAT_THING = (("das", "that", ER),)
OF_THINGS: dict[Case, dict[Gender, tuple[str, str, int]]] = {  # sie as an object could be people: left out
    "nom": {"m": ("er", "it", ER), "f": ("sie", "it", ER), "n": ("es", "it", ER), "pl": ("sie", "they", WIR)},
    "acc": {"m": ("ihn", "it", ER), "n": ("es", "it", ER)},
}
MASCULINE = ("er", "ihn", "ihm")  # singular pronouns of men
OBJECTS: dict[Case, tuple[tuple[str, str, int], ...]] = {  # sie and ihr could be several people: left out
    "acc": (("mich", "me", ICH), ("ihn", "him", ER), ("uns", "us", WIR),
            ("dich", "you", DU)),
    "dat": (("mir", "me", ICH), ("ihm", "him", ER), ("uns", "us", WIR),
            ("dir", "you", DU)),
}  # fmt: skip


def unsuitable_determiners(noun: Noun) -> tuple[str, ...]:
    """Determiners that the noun cannot have, or that change its meaning: "mein Mann" is a husband."""
    if noun.english in ("husband", "wife"):
        return ("der", "ein", "kein", "", *NUMBERS)
    if noun.kind in WITHOUT_ARTICLE:
        return ("der", "ein", "mein", "dein", *NUMBERS)
    if noun.singular in ("Mann", "Frau", "Mädchen"):
        return ("mein", "dein")
    if noun.plural:
        return ("",) if noun.plural == noun.singular and not noun.is_mass else ()  # one or several?
    return ("ein", *NUMBERS) if noun.is_mass else ("ein", "", *NUMBERS)


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
NUMBERS = {"zwei": "two", "drei": "three", "vier": "four", "fünf": "five", "sechs": "six", "zehn": "ten"}
AGES = adverbs(
    {
        "zehn": "ten",
        "zwölf": "twelve",
        "achtzehn": "eighteen",
        "zwanzig": "twenty",
        "dreißig": "thirty",
        "vierzig": "forty",
    }
)


def adjective_ending(determiner: str, case: Case, gender: Gender) -> str:
    """Of an adjective after der, after ein, mein, dein or kein, after a number, or with nothing before it ("")."""
    if determiner in ("ein", "mein", "dein", "kein", "") and gender != "pl" and case != "dat":
        return {"m": "er" if case == "nom" else "en", "f": "e", "n": "es"}[gender]
    if determiner == "der" and gender != "pl" and case != "dat":
        return "en" if (case, gender) == ("acc", "m") else "e"
    return "en" if determiner in ("der", "ein", "mein", "dein", "kein") else "e"

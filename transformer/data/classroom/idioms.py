"""Everyday phrases that are not translated word by word, with their alignments. Knows nothing of how they are chosen.

In both languages a word in capitals is a slot (see `everyday.SLOTS`), and a word with slashes has a form for each
person of the phrase's subject: ich, er, wir, du. An English word names the German words that it translates, by their
first form: "fine=gut". After "~" they are possible only.
"""

from dataclasses import dataclass
from functools import cached_property

from ..vocabulary import lower
from .lexicon import Lexeme


@dataclass(frozen=True)
class Idiom(Lexeme):
    german: str
    english: str
    weight: float = 1  # how often it is chosen, beside others

    @cached_property
    def slots(self) -> tuple[str, ...]:
        return tuple(word for word in self.german.split() if word.isupper())

    def spellings(self) -> tuple[str, ...]:
        return tuple(form for word in self.german.split() if word not in self.slots for form in word.split("/"))

    @cached_property
    def fixed_words(self) -> list[frozenset[str]]:
        """The forms of each word that is not a slot."""
        return [frozenset(lower(word).split("/")) for word in self.german.split() if word not in self.slots]

    def may_occur_in(self, words: frozenset[str]) -> bool:
        return all(not forms.isdisjoint(words) for forms in self.fixed_words)


GREETINGS = (  # before a sentence
    Idiom("Hallo", "hello=Hallo"),
    Idiom("Guten Morgen", "good=Guten morning=Morgen"),
    Idiom("Guten Tag", "good=Guten day=Tag"),
    Idiom("Guten Abend", "good=Guten evening=Abend"),
    Idiom("Entschuldigung", "excuse=Entschuldigung me~Entschuldigung"),
    Idiom("ja", "yes=ja"),
    Idiom("nein", "no=nein"),
)
SAYINGS = (  # alone, or before somebody's name
    *GREETINGS,
    Idiom("Gute Nacht", "good=Gute night=Nacht"),
    Idiom("Auf Wiedersehen", "goodbye=Auf+Wiedersehen"),
    Idiom("Tschüss", "bye=Tschüss"),
    Idiom("bis morgen", "see~bis you~bis tomorrow=morgen"),
    Idiom("bis bald", "see~bis you~bis soon=bald"),
    Idiom("bis später", "see~bis you~bis later=später"),
    Idiom("danke", "thank=danke you~danke"),
    Idiom("vielen Dank", "thank=Dank you~Dank very~vielen much=vielen"),
    Idiom("bitte", "please=bitte"),
    Idiom("gern geschehen", "you~geschehen are~geschehen welcome=gern+geschehen"),
    Idiom("kein Problem", "no=kein problem=Problem"),
    Idiom("keine Ahnung", "no=keine idea=Ahnung"),
    Idiom("viel Glück", "good~viel luck=Glück"),
    Idiom("viel Spaß", "have~viel fun=Spaß"),
    Idiom("guten Appetit", "enjoy~guten your~guten meal=Appetit"),
    Idiom("gute Besserung", "get~gute well=Besserung soon~Besserung"),
    Idiom("alles Gute", "all=alles the~Gute best=Gute"),
    Idiom("alles Gute zum Geburtstag", "happy=alles+Gute birthday=zum+Geburtstag"),
    Idiom("herzlichen Glückwunsch", "congratulations=herzlichen+Glückwunsch"),
    Idiom("frohe Weihnachten", "merry=frohe christmas=Weihnachten"),
    Idiom("gute Reise", "have~gute a~gute good=gute trip=Reise"),
    Idiom("schönen Tag noch", "have~schönen a~schönen nice=schönen day=Tag+noch"),
    Idiom("alles klar", "all=alles right=klar"),
    Idiom("natürlich", "of=natürlich course=natürlich"),
    Idiom("genau", "exactly=genau"),
    Idiom("stimmt", "that~stimmt is~stimmt right=stimmt"),
    Idiom("schön", "nice=schön"),
    Idiom("gut", "good=gut"),
    Idiom("toll", "great=toll"),
    Idiom("willkommen", "welcome=willkommen"),
    Idiom("Prost", "cheers=Prost"),
)

IDIOMS = (
    *(Idiom(each.german, f"{each.english} !") for each in SAYINGS),
    *(Idiom(f"{each.german} NAME", f"{each.english} , NAME !") for each in SAYINGS),
    Idiom("Hallo Welt", "hello=Hallo world=Welt !"),
    Idiom("willkommen in TOWN", "welcome=willkommen to=in TOWN !"),
    # Oneself and others
    Idiom("wie geht es dir", "how=wie are=geht you=dir ?"),
    Idiom("wie geht es dir NAME", "how=wie are=geht you=dir , NAME ?"),
    Idiom("wie geht es dir WHEN", "how=wie are=geht you=dir WHEN ?"),
    Idiom("wie geht's dir", "how=wie are=geht's you=dir ?"),
    Idiom("wie geht's", "how=wie are=geht's you~geht's ?"),
    Idiom("wie geht es Ihnen", "how=wie are=geht you=Ihnen ?"),
    Idiom("mir geht es gut", "i=mir am=geht fine=gut ."),
    Idiom("mir geht es WHEN gut", "i=mir am=geht fine=gut WHEN ."),
    Idiom("WHEN geht es mir gut", "WHEN i=mir am=geht fine=gut ."),
    Idiom("wie heiße/heißt/heißen/heißt NAMED", "what=wie is=heiße YOUR name=heiße ?", 6),
    Idiom("SELF heiße/heißt/heißen/heißt NAME", "MY name=heiße is=heiße NAME .", 3),
    Idiom("mein Name ist NAME", "my=mein name=Name is=ist NAME ."),
    Idiom("wie ist dein Name", "what=wie is=ist your=dein name=Name ?"),
    Idiom("KIN heißt NAME", "KIN is=heißt called=heißt NAME ."),
    Idiom("wie heißt KIN", "what=wie is~heißt KIN called=heißt ?"),
    Idiom("SELF habe/hat/haben/hast heute Geburtstag", "today=heute is~habe MY birthday=Geburtstag ."),
    Idiom("wann hast du Geburtstag", "when=wann is=hast your=du birthday=Geburtstag ?"),
    Idiom("mir geht es nicht gut", "i=mir am=geht not=nicht fine=gut ."),
    Idiom("mir ist kalt", "i=mir am=ist cold=kalt ."),
    Idiom("mir ist WHEN kalt", "i=mir am=ist cold=kalt WHEN ."),
    Idiom("mir ist warm", "i=mir am=ist warm=warm ."),
    Idiom("mir ist WHEN warm", "i=mir am=ist warm=warm WHEN ."),
    Idiom("es tut mir leid", "i=mir am=tut sorry=leid ."),
    Idiom("das ist mir egal", "i=mir do~ist not~egal care=egal about~das that=das ."),
    Idiom("ich bin fertig", "i=ich am=bin finished=fertig ."),
    Idiom("vielleicht", "maybe=vielleicht ."),
    Idiom("was ist los", "what=was is=ist wrong=los ?"),
    Idiom("SUBJECT habe/hat/haben/hast recht", "SUBJECT am/is/are/are=habe right=recht ."),
    Idiom("SUBJECT habe/hat/haben/hast Angst", "SUBJECT am/is/are/are=habe afraid=Angst ."),
    Idiom("SUBJECT habe/hat/haben/hast keine Ahnung", "SUBJECT have/has/have/have=habe no=keine idea=Ahnung ."),
    Idiom("SUBJECT gehe/geht/gehen/gehst einkaufen", "SUBJECT am/is/are/are~gehe going=gehe shopping=einkaufen ."),
    Idiom("SUBJECT gehe/geht/gehen/gehst schlafen", "SUBJECT am/is/are/are~gehe going=gehe to~schlafen bed=schlafen ."),
    Idiom("SUBJECT war/war/waren/warst PLACE", "SUBJECT was/was/were/were=war PLACE ."),
    Idiom("SUBJECT war/war/waren/warst FEELING", "SUBJECT was/was/were/were=war FEELING ."),
    Idiom("wo war/war/waren/warst ASKED", "where=wo was/was/were/were=war ASKED ?"),
    Idiom("wie war dein Tag", "how=wie was=war your=dein day=Tag ?"),
    Idiom("wie war das Essen", "how=wie was=war the=das food=Essen ?"),
    Idiom("ich weiß nicht", "i=ich do=nicht not=nicht know=weiß ."),
    Idiom("das weiß ich nicht", "i=ich do=nicht not=nicht know=weiß that=das ."),
    Idiom("SUBJECT verstehe/versteht/verstehen/verstehst nicht",
          "SUBJECT do/does/do/do=nicht not=nicht understand=verstehe ."),
    Idiom("wie alt bin/ist/sind/bist ASKED", "how=wie old=alt am/is/are/are=bin ASKED ?"),
    Idiom("SUBJECT bin/ist/sind/bist AGE Jahre alt", "SUBJECT am/is/are/are=bin AGE years=Jahre old=alt ."),
    Idiom("woher komme/kommt/kommen/kommst ASKED", "where=woher do/does/do/do ASKED come=komme from=woher ?"),
    Idiom("SUBJECT komme/kommt/kommen/kommst aus TOWN", "SUBJECT come/comes/come/come=komme from=aus TOWN ."),
    Idiom("SUBJECT bin/ist/sind/bist aus TOWN", "SUBJECT am/is/are/are=bin from=aus TOWN ."),
    Idiom("SUBJECT habe/hat/haben/hast Hunger", "SUBJECT am/is/are/are=habe hungry=Hunger ."),
    Idiom("habe/hat/haben/hast ASKED Hunger", "am/is/are/are=habe ASKED hungry=Hunger ?"),
    Idiom("SUBJECT habe/hat/haben/hast Durst", "SUBJECT am/is/are/are=habe thirsty=Durst ."),
    Idiom("habe/hat/haben/hast ASKED Durst", "am/is/are/are=habe ASKED thirsty=Durst ?"),
    Idiom("habe/hat/haben/hast ASKED Geschwister", "do/does/do/do ASKED have=habe siblings=Geschwister ?"),
    Idiom("SUBJECT spreche/spricht/sprechen/sprichst ein bisschen TONGUE",
          "SUBJECT speak/speaks/speak/speak=spreche a=ein little=bisschen TONGUE ."),
    Idiom("PERSON ist JOB", "PERSON is=ist a~JOB JOB ."),
    Idiom("ich bin JOB", "i=ich am=bin a~JOB JOB ."),
    Idiom("er ist JOB", "he=er is=ist a~JOB JOB ."),
    Idiom("bist du JOB", "are=bist you=du a~JOB JOB ?", 2),
    Idiom("du bist PERSON", "you=du are=bist PERSON ."),
    Idiom("er ist PERSON", "he=er is=ist PERSON ."),
    Idiom("sie ist PERSON", "she=sie is=ist PERSON ."),
    Idiom("das ist PERSON", "that=das is=ist PERSON ."),
    Idiom("ist das PERSON", "is=ist that=das PERSON ?"),
    Idiom("das ist MINE", "that=das is=ist MINE ."),
    Idiom("ist das MINE", "is=ist that=das MINE ?"),
    Idiom("was ist das", "what=was is=ist that=das ?"),
    Idiom("wer ist das", "who=wer is=ist that=das ?"),
    Idiom("wer bist du", "who=wer are=bist you=du ?"),
    Idiom("das ist VALUE", "that=das is=ist VALUE ."),
    Idiom("das ist sehr VALUE", "that=das is=ist very=sehr VALUE ."),
    Idiom("das ist zu VALUE", "that=das is=ist too=zu VALUE ."),
    Idiom("das war VALUE", "that=das was=war VALUE ."),
    Idiom("es war VALUE", "it=es was=war VALUE ."),
    Idiom("das ist nicht VALUE", "that=das is=ist not=nicht VALUE ."),
    Idiom("SUBJECT weiß/weiß/wissen/weißt es nicht", "SUBJECT do/does/do/do=nicht not=nicht know=weiß it=es ."),
    # Buying and asking one's way
    Idiom("ORDER bitte", "ORDER , please=bitte !"),
    Idiom("die Rechnung bitte", "the=die bill=Rechnung , please=bitte !"),
    Idiom("ein Glas POURED bitte", "a=ein glass=Glas of~Glas POURED , please=bitte !"),
    Idiom("ich möchte ein Glas POURED", "i=ich would=möchte like=möchte a=ein glass=Glas of~Glas POURED ."),
    Idiom("ich hätte gern ein Glas POURED", "i=ich would=hätte like=gern a=ein glass=Glas of~Glas POURED ."),
    Idiom("wo kann ich GOODS kaufen", "where=wo can=kann i=ich buy=kaufen GOODS ?"),
    Idiom("ich hätte gern ORDER", "i=ich would=hätte like=gern ORDER ."),
    Idiom("was kostet das", "how~was much=was does that=das cost=kostet ?"),
    Idiom("was kostet/kostet/kosten/kostet WARE", "how~was much=was do/does/do/do WARE cost=kostet ?"),
    Idiom("wie viel kostet/kostet/kosten/kostet WARE",
          "how=wie much=viel do/does/do/do WARE cost=kostet ?"),
    Idiom("WARE kostet/kostet/kosten/kostet AGE Euro", "WARE cost/costs/cost/cost=kostet AGE euros=Euro ."),
    Idiom("wann kommt VEHICLE", "when=wann does VEHICLE come=kommt ?"),
    Idiom("VEHICLE kommt HOUR", "VEHICLE comes=kommt HOUR ."),
    # Time, weather, meals
    Idiom("wie spät ist es", "what=wie time=spät is=ist it=es ?"),
    Idiom("wie viel Uhr ist es", "what=wie+viel time=Uhr is=ist it=es ?"),
    Idiom("heute ist DAY", "today=heute is=ist DAY ."),
    Idiom("morgen ist DAY", "tomorrow=morgen is=ist DAY ."),
    Idiom("es ist CLOCK Uhr", "it=es is=ist CLOCK o'clock=Uhr ."),
    Idiom("die Sonne scheint", "the=die sun=Sonne is=scheint shining=scheint ."),
    Idiom("die Sonne scheint WHEN", "the=die sun=Sonne is=scheint shining=scheint WHEN ."),
    Idiom("WHEN scheint die Sonne", "WHEN the=die sun=Sonne is=scheint shining=scheint ."),
    Idiom("das Wetter ist SKY", "the=das weather=Wetter is=ist SKY ."),
    Idiom("das Wetter war SKY", "the=das weather=Wetter was=war SKY ."),
    Idiom("das Wetter ist WHEN SKY", "the=das weather=Wetter is=ist SKY WHEN ."),
    Idiom("WHEN ist das Wetter SKY", "WHEN the=das weather=Wetter is=ist SKY ."),
    Idiom("wie ist das Wetter", "how=wie is=ist the=das weather=Wetter ?"),
    Idiom("wie ist das Wetter WHEN", "how=wie is=ist the=das weather=Wetter WHEN ?"),
    Idiom("das Essen ist TASTE", "the=das food=Essen is=ist TASTE ."),
    Idiom("das Essen schmeckt TASTE", "the=das food=Essen tastes=schmeckt TASTE ."),
    Idiom("DISH schmeckt/schmeckt/schmecken/schmeckt TASTE", "DISH taste/tastes/taste/taste=schmeckt TASTE ."),
    Idiom("THING liegt/liegt/liegen/liegt SPOT", "THING am/is/are/are=liegt SPOT ."),
    Idiom("wie viele FEW habe/hat/haben/hast ASKED", "how=wie many=viele FEW do/does/do/do ASKED have=habe ?"),
)  # fmt: skip

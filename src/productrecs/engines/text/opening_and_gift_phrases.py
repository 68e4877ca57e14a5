"""Opening and gift phrases: the words of a query that name no product."""

import re
from collections.abc import Sequence
from typing import Final

# What people write before the product that they want, in folded letters.
_OPENINGS: Final = {
    "en": "(i m |im |i am )?(looking|searching|shopping) for|(show|find) me"
    "|i (need|want|would like)( to buy)?|do you (have|sell)"
    "|(something|anything) (for|to)( keep| put| hold| store)?"
    "|(best |nice )?(gifts?|presents?)( ideas?)? for( my| her| his)?",
    "de": "ich (suche|brauche|mochte|will)|suche|(habt ihr|haben sie)"
    "|etwas (fur|um|zum|zur)|geschenk(e|idee|ideen)? fur( mein| meine| meinen)?",
    "fr": "je (cherche|recherche|voudrais|veux)|cherche|quelque chose (pour|a|qui)"
    "|(idees? )?cadeaux?(?! voor)( pour)?( mon| ma| mes)?",
    "es": "(estoy )?(busco|buscando)|quiero|necesito|algo (para|de)"
    "|(ideas? de )?regalos?(?! per)( para)?( mi| mis)?",
    "it": "(sto )?(cerco|cercando)|vorrei|mi serve|ho bisogno di|qualcosa (per|da)"
    "|(idea |idee )?regal(o|i)( per)?( mio| mia)?",
    "nl": "ik (zoek|wil|heb nodig)|(op )?zoek naar|iets (voor|om)"
    "|cadeau(s|tje)? voor( mijn)?",
    "pl": "szukam|poszukuje|potrzebuje|chce|cos (do|dla|na)|(pomysl na )?prezenty?( dla)?",
}  # fmt: skip
_ARTICLE: Final = "(?:an?|the|un|une|una|ein|einen?|een) "
_OPENING: Final = re.compile(
    rf"(?:{_ARTICLE})?(?:{'|'.join(_OPENINGS.values())})(?: (?:{_ARTICLE})?|$)"
)


# A last word of this kind is no product either: "kids gift".
_GIFT_AT_END: Final = re.compile(
    "(?<=. )(gifts?|presents?)( ideas?)?$|(?<=. )(geschenke?|geschenkideen?|cadeaus|"
    "cadeautjes?)$"
)
_GIFT: Final = re.compile("gifts?|presents?")
_PERSON: Final = re.compile("(?P<root>[a-z]{3,})ers?")


def without_opening_phrase(words: Sequence[str]) -> Sequence[str]:
    """Return a query's folded words without an opening such as "I am looking for".

    "Gift" is left out also at the end, but not before a product, as in "gift tags".
    """
    text = " ".join(words)
    opening = _OPENING.match(text)
    wanted = text[opening.end() :] if opening else text
    wanted_words = _GIFT_AT_END.sub("", wanted).split()
    return wanted_words if len(wanted_words) < len(words) else words


def activities_of_gift_recipients(
    words_of_query: Sequence[str], wanted_words: Sequence[str]
) -> dict[str, list[str]]:
    """Return what the people of an English query for gifts do: of a camper, "camping".

    `wanted_words` are the words of the query without those for gifts.
    """
    if not any(
        _GIFT.fullmatch(word) for word in set(words_of_query).difference(wanted_words)
    ):
        return {}
    activities = {}
    for word in wanted_words:
        person = _PERSON.fullmatch(word)
        if person:
            root = person["root"]
            is_doubled = root[-1] == root[-2]  # "runner": "run"
            activities[word] = [f"{root}ing", root[:-1] if is_doubled else root, f"{root}e"]
    return activities

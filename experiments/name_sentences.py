"""Sentences in which a name decides a pronoun, for a masked language model."""

import csv
import io

# The name stands at the beginning, in the middle and near the mask, before it and behind it, so that no place is right.
FRAMES = (
    "The author talked to {} about [MASK] book.",
    "{} convinced the teacher of [MASK] love.",
    "{} lost [MASK] keys on the way to the station.",
    "After the long meeting {} went back to [MASK] office.",
    "The doctor asked {} to bring [MASK] coat.",
    "The children liked {} because of [MASK] songs.",
    "In the morning {} always reads the paper with [MASK] coffee.",
    "The neighbors told {} that [MASK] car was still in the street.",
    "Nobody at the party knew that {} had sold [MASK] house.",
    "When the rain began, {} opened [MASK] umbrella.",
    "Yesterday the police returned the stolen bicycle to {} and [MASK] family.",
    "The reporter wrote about {} and [MASK] garden.",
    "The manager promised {} that [MASK] salary would rise.",
    "Last summer {} invited the whole village to [MASK] wedding.",
    "In [MASK] new book, {} writes about the sea.",
    "Because of [MASK] illness, {} stayed at home for weeks.",
)
PAIRS = (
    ("Mary", "John"),
    ("Sara", "Peter"),
    ("Anna", "David"),
    ("Emma", "Thomas"),
    ("Alice", "James"),
    ("Susan", "Robert"),
    ("Linda", "Michael"),
    ("Julia", "Daniel"),
)


def sentences():
    """The samples as CSV: the pronoun follows the name, and turns when the pair's other name takes its place."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("text", "good", "bad", "evidence", "swap"))
    for frame in FRAMES:
        for woman, man in PAIRS:
            rows.writerow((frame.format(woman), "her", "his", woman, man))
            rows.writerow((frame.format(man), "his", "her", man, woman))
    return out.getvalue()

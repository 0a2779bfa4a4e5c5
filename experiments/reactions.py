"""Reactions in which one atom of the reactants is the masked atom of the product, for a model of reaction SMILES.

Each nucleophile (an amine, a thiol, an alcohol) brings the only atom of its element, so the atom to be named stands in
the text once: in "CC(=O)Cl.Nc1ccccc1>>CC(=O)[MASK]c1ccccc1" it is the N of aniline.
"""

import csv
import io

# The electrophile, the beginning of the product, and the nucleophiles that react with it. An acid chloride has an
# oxygen of its own, and so takes no alcohols here.
ELECTROPHILES = (
    ("CC(=O)Cl", "CC(=O)", "NS"),
    ("O=C(Cl)c1ccccc1", "O=C(c1ccccc1)", "NS"),
    ("CC(C)C(=O)Cl", "CC(C)C(=O)", "NS"),
    ("CS(=O)(=O)Cl", "CS(=O)(=O)", "N"),
    ("CCBr", "CC", "NSO"),
    ("BrCc1ccccc1", "c1ccc(cc1)C", "NSO"),
    ("CC(C)CI", "CC(C)C", "NSO"),
    ("FC(F)(F)c1ccc(CBr)cc1", "FC(F)(F)c1ccc(cc1)C", "NSO"),
)
REMAINDERS = ("c1ccccc1", "Cc1ccccc1", "CCC", "C1CCCCC1", "c1ccc(C)cc1", "CC(C)C", "c1ccc(F)cc1", "CCCCC")


def sentences():
    """The samples as CSV; the right answer, and the atom that it came from."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("text", "good", "evidence"))
    for electrophile, begun, atoms in ELECTROPHILES:
        for atom in atoms:
            for rest in REMAINDERS:
                rows.writerow((f"{electrophile}.{atom}{rest}>>{begun}[MASK]{rest}", atom, atom))
    return out.getvalue()

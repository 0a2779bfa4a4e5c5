"""The texts of the golden files: one public-domain passage, and sentences written for this project."""

# Charles Darwin, On the Origin of Species (1859), opening of the introduction. Public domain.
ORIGIN = (
    "When on board H.M.S. 'Beagle,' as naturalist, I was much struck with certain facts in the distribution of the "
    "inhabitants of South America, and in the geological relations of the present to the past inhabitants of that "
    "continent. These facts seemed to me to throw some light on the origin of species—that mystery of mysteries, as "
    "it has been called by one of our greatest philosophers. On my return home, it occurred to me, in 1837, that "
    "something might perhaps be made out on this question by patiently accumulating and reflecting on all sorts of "
    "facts which could possibly have any bearing on it. After five years' work I allowed myself to speculate on the "
    "subject, and drew up some short notes; these I enlarged in 1844 into a sketch of the conclusions, which then "
    "seemed to me probable: from that period to the present day I have steadily pursued the same object. I hope that "
    "I may be excused for entering on these personal details, as I give them to show that I have not been hasty in "
    "coming to a decision.\n\n"
    "My work is now nearly finished; but as it will take me two or three more years to complete it, and as my health "
    "is far from strong, I have been urged to publish this Abstract. I have more especially been induced to do this, "
    "as Mr. Wallace, who is now studying the natural history of the Malay archipelago, has arrived at almost exactly "
    "the same general conclusions that I have on the origin of species. Last year he sent to me a memoir on this "
    "subject, with a request that I would forward it to Sir Charles Lyell, who sent it to the Linnean Society, and it "
    "is published in the third volume of the Journal of that Society. Sir C. Lyell and Dr. Hooker, who both knew of "
    "my work—the latter having read my sketch of 1844—honoured me by thinking it advisable to publish, with Mr. "
    "Wallace's excellent memoir, some brief extracts from my manuscripts.\n\n"
    "This Abstract, which I now publish, must necessarily be imperfect. I cannot here give references and authorities "
    "for my several statements; and I must trust to the reader reposing some confidence in my accuracy. No doubt "
    "errors will have crept in, though I hope I have always been cautious in trusting to good authorities alone. I "
    "can here give only the general conclusions at which I have arrived, with a few facts in illustration, but which, "
    "I hope, in most cases will suffice. No one can feel more sensible than I do of the necessity of hereafter "
    "publishing in detail all the facts, with references, on which my conclusions have been grounded; and I hope in a "
    "future work to do this. For I am well aware that scarcely a single point is discussed in this volume on which "
    "facts cannot be adduced, often apparently leading to conclusions directly opposite to those at which I have "
    "arrived."
)

CAT = "The cat sat on the mat"
CABINETS = "The key to the cabinets is on the table."
AUTHOR = "The author talked to Sara about her book."
PAIR = ("Where did the author put the keys?", "They are on the table, beside Sara's book.")
# Emoji (one of them several code points), Arabic, Chinese, composed and combining accents, a tab and a wide space.
SCRIPTS = "Café naïve — الكتاب على الطاولة 钥匙在桌子上 👩‍🔬 reads e\u0301tude\tno.\u30007 🙂!"

# A carboxylic acid converted to an amide; and a Suzuki coupling with the product's ring nitrogen masked.
REACTIONS = {
    "amide": "CC(=O)Cl.Nc1ccccc1>>CC(=O)[MASK]c1ccccc1",
    "suzuki": "CC1(C)OB(c2ccc(C(=O)O)cc2)OC1(C)C.Brc1ccncc1>>O=C(O)c1ccc(-c2cc[MASK]cc2)cc1",
}

# For the small models. "{mask}" is replaced by the tokenizer's mask.
SMALL = "The key to Sara's café {mask} on the table, the author talked about her book and asked to see it!"
SMALL_PAIR = ("The {mask} is here.", "Sara has it!")
# The words to mask, for models without a masked-language head.
SMALL_WORDS = ("is", "key")

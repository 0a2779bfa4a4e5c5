"""The numbers of Abnar & Zuidema, Quantifying Attention Flow in Transformers (ACL 2020), Tables 1 to 3.

Means over samples of Spearman's correlation as their code computes it, by layer.
"""

METHODS = ("raw", "rollout", "flow")

# Tables 1 and 2: subject-verb agreement, 2,000 samples, layers 1 to 6, [CLS] counted.
AGREEMENT = {
    "blank-out": {
        "raw": (0.69, 0.10, -0.11, -0.09, 0.20, 0.29),
        "rollout": (0.32, 0.38, 0.51, 0.62, 0.70, 0.71),
        "flow": (0.32, 0.44, 0.70, 0.70, 0.71, 0.70),
    },
    "gradient": {
        "raw": (0.53, 0.16, -0.06, 0.00, 0.24, 0.46),
        "rollout": (0.22, 0.27, 0.39, 0.47, 0.53, 0.54),
        "flow": (0.22, 0.31, 0.54, 0.61, 0.60, 0.61),
    },
}

# Table 3: SST-2 with DistilBERT, 100 samples, gradients.
SENTIMENT_LAYERS = (1, 3, 5, 6)
SENTIMENT = {
    "raw": (0.12, 0.09, 0.08, 0.09),
    "rollout": (0.11, 0.12, 0.13, 0.13),
    "flow": (0.11, 0.11, 0.12, 0.14),
}

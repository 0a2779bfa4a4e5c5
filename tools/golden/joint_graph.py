"""Source and target of an encoder-decoder as one graph, from the output of transformers."""

import numpy as np


def joined(output):
    """[layer, head, n, n]: the encoder's layers, then for each decoder layer its attention to the target and to the
    source."""
    steps = [("encoder", one) for one in output.encoder_attentions]
    for own, cross in zip(output.decoder_attentions, output.cross_attentions, strict=True):
        steps += [("self", own), ("cross", cross)]
    m, k = output.encoder_attentions[0].shape[-1], output.decoder_attentions[0].shape[-1]
    layers = []
    for kind, weights in steps:
        layer = np.tile(np.eye(m + k, dtype=np.float32), (weights.shape[1], 1, 1))
        rows = slice(0, m) if kind == "encoder" else slice(m, m + k)
        columns = slice(m, m + k) if kind == "self" else slice(0, m)
        layer[:, rows] = 0
        layer[:, rows, columns] = weights[0].numpy()
        layers.append(layer)
    return np.stack(layers)

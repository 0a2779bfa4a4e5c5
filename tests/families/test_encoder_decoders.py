"""Source and target of an encoder-decoder as one graph: the program's output compared with tools/reference."""

import unittest

import families
import numpy as np
import transformers

from reference.attention_graph import AttentionGraph
from reference.max_flow import Network

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class JointGraphTest(unittest.TestCase):
    def test_rollout_and_flow(self):
        for name in ("t5", "bart", "marian"):
            with self.subTest(name):
                found = families.written_by(
                    families.FAMILIES[name], "--method", "raw,rollout,flow", "--flow-layers", "5,7"
                )
                report, joint, first = found.report, found.joint, found.first
                self.assertEqual([token["id"] for token in report["generation"]["tokens"]], found.ids)
                # The decoder's, after three of the encoder.
                self.assertEqual(report["settings"]["layers"], [4, 5, 6, 7])
                np.testing.assert_allclose(found.rows("raw"), joint.mean(1)[3:, first:], atol=1e-6)
                graph = AttentionGraph(joint)
                rollout = graph.rollout()
                np.testing.assert_allclose(found.rows("rollout"), rollout[3:, first:], atol=1e-6)
                self.assertGreater(rollout[6, -1, :first].min(), 0.0)
                n = joint.shape[-1]
                flow = found.rows("flow")
                gap = found.arrays["flow_gap"].transpose(2, 0, 1)
                for at, layer in enumerate((5, 7)):
                    for t, source in ((0, 0), (0, first), (2, 3), (6, 5), (6, first), (6, first + 2)):
                        # Among the tokens that the output sees.
                        seen = first + t + 1
                        network = Network(graph.matrices(layer)[:, :seen, :seen])
                        low, high = network.enclosure(first + t, source)
                        # Float32 weights that differ by 1e-7, in a cut of at most 4 n arcs.
                        self.assertLessEqual(flow[at, t, source], high + 4 * n * 1e-7)
                        width = gap[at, t, source] if source < gap.shape[-1] else 1e-6
                        self.assertGreaterEqual(flow[at, t, source] + width, low - 4 * n * 1e-7)

    def test_source_and_target_are_named(self):
        found = families.written_by(families.FAMILIES["mbart"], "--method", "rollout")
        report = found.report
        self.assertEqual((report["input"]["kind"], report["input"]["text"]), ("generation", families.TEXT))
        tokens = report["input"]["tokens"]
        source = len(families.TEXT.split()) + 1
        self.assertEqual([token["segment"] for token in tokens], [0] * source + [1, 1])
        self.assertEqual([token["text"] for token in tokens[source - 1 :]], ["[SEP]", "[CLS]", "to"])
        (note,) = [note for note in report["notes"] if note["code"] == "joint-layers"]
        self.assertEqual(note["values"], {"source_tokens": source, "encoder_layers": 3, "decoder_layers": 2})
        self.assertFalse(report["model"]["causal"])


if __name__ == "__main__":
    unittest.main()

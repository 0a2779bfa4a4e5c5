"""Flow as a maximum flow, by general solvers: the reference that Python tests compare with.

Definition (docs/method.md). The matrices A_(m+1) ... A_l of attention_graph.py are a network of layers. Its nodes are
(k, p), position p after layer k, and the arc (k, p) -> (k - 1, q) has capacity A_k[p, q]. The flow from output token i
to input token j is the maximum flow from (l, i) to (m, j), which equals the capacity of a minimum cut.

Enclosure by SciPy. Its capacities and flows are int32, so capacities are rounded down to c = floor(2^s A), with the
largest s <= 30 for which no sum over a row reaches 2^31. Let F be the maximum flow of the rounded network, and S the
nodes that the source still reaches in its residual network. Then

    2^-s F  <=  flow  <=  sum of A over the arcs that leave S

Rounding down only lowers a maximum flow; the arcs that leave S are a cut. The c of these arcs sum to F, each c is less
than one unit below 2^s A, and so the bounds differ by less than 2^-s times the number of these arcs.

Exact flow by NetworkX. Its capacities may be Python's integers, and a double is an integer times a power of two: nothing
is rounded. SciPy has no such type. (Slow: for a few pairs.)
"""

from fractions import Fraction
from math import frexp, fsum

import networkx
import numpy as np
from networkx.algorithms.flow import dinitz
from scipy.sparse import csgraph, csr_matrix

# Float64 arithmetic on the two bounds.
ROUNDING = 1e-12


class SolverError(Exception):
    """SciPy's result is not a maximum flow."""


class Network:
    """The network of `matrices`, A_(m+1) ... A_l as [layer, query, key]. Node (k, p) is number (l - k) n + p."""

    def __init__(self, matrices):
        self.depth, self.n, _ = matrices.shape
        step, query, key = np.nonzero(matrices[::-1])
        self.tail, self.head = step * self.n + query, (step + 1) * self.n + key
        self.capacity = matrices[::-1][step, query, key]
        largest = max(1.0, float(matrices.sum(axis=-1).max()))
        self.scale = 2.0 ** (31 - frexp(largest)[1])
        nodes = (self.depth + 1) * self.n
        units = np.floor(self.capacity * self.scale).astype(np.int32)
        self.rounded = csr_matrix((units, (self.tail, self.head)), shape=(nodes, nodes))
        self.rounded.eliminate_zeros()

    def enclosure(self, output_token, input_token):
        """Bounds (low, high) of one flow, by SciPy."""
        source, sink = output_token, self.depth * self.n + input_token
        solved = csgraph.maximum_flow(self.rounded, source, sink)
        residual = self.rounded - solved.flow
        residual.eliminate_zeros()
        reached = np.zeros(residual.shape[0], bool)
        reached[csgraph.breadth_first_order(residual, source, return_predecessors=False)] = True
        leaving = reached[self.tail] & ~reached[self.head]
        low, high = solved.flow_value / self.scale, fsum(self.capacity[leaving])
        if residual.nnz and residual.data.min() < 0:
            raise SolverError("SciPy's flow exceeds a capacity")
        if reached[sink] or not -ROUNDING <= high - low <= leaving.sum() / self.scale + ROUNDING:
            raise SolverError(f"SciPy's flow is not a maximum: {low!r}, and a cut of {high!r}")
        return low, high

    def enclosures(self):
        """Bounds of all pairs: low and high, each [output token, input token]."""
        pairs = [[self.enclosure(i, j) for j in range(self.n)] for i in range(self.n)]
        return np.moveaxis(np.array(pairs), -1, 0)

    def exact(self, output_token, input_token):
        """The double nearest to one flow, by NetworkX."""
        capacities = [Fraction(capacity) for capacity in self.capacity]
        unit = max((capacity.denominator for capacity in capacities), default=1)
        source, sink = output_token, self.depth * self.n + input_token
        graph = networkx.DiGraph()
        graph.add_nodes_from((source, sink))
        for tail, head, capacity in zip(self.tail.tolist(), self.head.tolist(), capacities, strict=True):
            graph.add_edge(tail, head, capacity=int(capacity * unit))
        return float(Fraction(networkx.maximum_flow_value(graph, source, sink, flow_func=dinitz), unit))

#include "attnflow/flow/flow_of_row.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "attnflow/base/parallel_for.h"
#include "attnflow/flow/row_flow.h"

namespace attnflow::internal {
namespace {

ArcBlock merged(const ArcBlock& block, const TokenGroups& groups) {
  ArcBlock result(block.above(), groups.size());
  for (std::size_t p = 0; p < block.above(); ++p) {
    const std::vector<std::int64_t> row = merge_row(block.row(p), groups);
    std::copy(row.begin(), row.end(), result.row(p).begin());
  }
  return result;
}

struct Worker {
  std::size_t wanted = 0;
  std::optional<RowFlow::Worker> solver = {};
  FlowCounts counts = {};
  void finish() {
    if (solver) counts += solver->counts();
    solver.reset();
  }
};

}  // namespace

FlowResult flow_of_row(const FlowProblem& problem, std::vector<const ArcBlock*> below,
                       std::vector<std::vector<std::int64_t>> tops, const FlowSize& size,
                       std::optional<std::size_t> available) {
  const FlowOptions& options = problem.options;
  const std::size_t wanted_layers = problem.layers.size();
  const RowPlan plan = plan_row(size, available);
  const ArcBlock none = ArcBlock::causal(problem.tokens);
  for (const ArcBlock*& block : below) {
    if (block->empty()) block = &none;
  }
  ArcBlock lowest;
  if (options.input_groups != nullptr) {
    lowest = merged(*below[0], *options.input_groups);
    below[0] = &lowest;
    if (problem.depth_of(0) == 1) tops[0] = merge_row(tops[0], *options.input_groups);
  }
  FlowResult result = problem.empty_result(1);
  std::vector<std::unique_ptr<const RowFlow>> flows(wanted_layers);
  parallel_for(wanted_layers, {options.threads, {}, options.stop_token}, [&](std::size_t wanted, std::size_t) {
    std::vector<std::int64_t>& top = tops[wanted];
    if (problem.depth_of(wanted) == 1) {
      for (std::size_t j = 0; j < top.size(); ++j) {
        problem.store(result, wanted, 0, j, {.low = top[j], .high = top[j]});
      }
      return;
    }
    const auto end = below.begin() + static_cast<std::ptrdiff_t>(problem.depth_of(wanted) - 1);
    flows[wanted] = std::make_unique<const RowFlow>(std::move(top), *options.output_token,
                                                    std::vector<const ArcBlock*>(below.begin(), end),
                                                    RowFlowOptions{.threads = size.threads,
                                                                   .gap = problem.gap_units,
                                                                   .most_layers = plan.most_layers,
                                                                   .stop = options.stop_token,
                                                                   .deadline = options.deadline});
    for (std::size_t j = 0; j < flows[wanted]->bounds().size(); ++j) {
      problem.store(result, wanted, 0, j, flows[wanted]->bounds()[j]);
    }
  });

  struct Unit {
    std::size_t wanted, part;
  };
  std::vector<Unit> units;
  for (std::size_t wanted = 0; wanted < wanted_layers; ++wanted) {
    for (std::size_t part = 0; flows[wanted] && part < flows[wanted]->parts(); ++part) units.push_back({wanted, part});
  }
  const std::size_t threads = std::min(plan.workers, std::max<std::size_t>(units.size(), 1));
  std::vector<Worker> workers(threads);
  std::atomic<bool> out_of_time = false;
  parallel_for(units.size(), {threads, options.progress, options.stop_token}, [&](std::size_t u, std::size_t number) {
    const Unit& unit = units[u];
    Worker& worker = workers[number];
    if (!worker.solver || worker.wanted != unit.wanted) {
      worker.finish();
      worker.wanted = unit.wanted;
      worker.solver.emplace(*flows[unit.wanted]);
    }
    const bool in_time = worker.solver->solve(unit.part, [&](std::size_t input, const SinkValue& value) {
      problem.store(result, unit.wanted, 0, input, value);
    });
    if (!in_time) out_of_time = true;
  });
  result.out_of_time = out_of_time;
  for (Worker& worker : workers) {
    worker.finish();
    if (options.counts != nullptr) *options.counts += worker.counts;
  }
  return result;
}

}  // namespace attnflow::internal

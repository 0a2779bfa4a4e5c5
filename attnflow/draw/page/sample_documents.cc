// Writes compact documents of drawn and random attention, for tests of their readers and inspecting sizes:
// attnflow_sample_documents FOLDER.
//
// Each sample becomes NAME.compact.json and NAME.json, which has all bits; a line gives its size and time. NAME-log8
// and NAME-top are smaller than necessary.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/draw/synthetic_generation_for_test.h"
#include "attnflow/draw/synthetic_picture_for_test.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/flow/flow.h"
#include "attnflow/report/compact_json.h"
#include "attnflow/report/report_json.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

void write_document(const std::filesystem::path& path, const std::function<std::string()>& make) {
  const auto start = std::chrono::steady_clock::now();
  const std::string json = make();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  write_file(path, json);
  fmt::print("{:<40} {:>10} bytes {:8.2f} s\n", path.filename().string(), json.size(), seconds.count());
}

// Small reports lose digits under kDigits, and values under few_bytes().
constexpr CompactOptions kDigits = {.exact_bytes = 0};
CompactOptions few_bytes(std::size_t bytes) {
  return {.exact_bytes = 0, .bytes = bytes, .bytes_with_attention = bytes, .max_bytes = 2 * bytes};
}

void write_compact(const std::filesystem::path& folder, const std::string& name, const Report& report,
                   const CompactOptions& options = {}) {
  write_document(folder / (name + ".compact.json"), [&] { return compact_report_json(report, options); });
}

void write(const std::filesystem::path& folder, const std::string& name, const Report& report) {
  write_compact(folder, name, report);
  write_document(folder / (name + ".json"), [&] { return report_to_json(report); });
}

void add_tokens(std::size_t n, Report* report) {
  static const std::vector<std::string> words = {"the", "key",   "to", "the", "cabinets", "is",  "on",   "the",
                                                 "old", "table", ",",  "and", "no",       "one", "knows"};
  report->input.tokens.push_back({"[CLS]", {}, {}, true, {}, 0});
  for (std::size_t i = 0; i + 2 < n; ++i) {
    std::string& text = report->input.text;
    if (!text.empty()) text += ' ';
    const std::string& word = words[i % words.size()];
    report->input.tokens.push_back({word, text.size(), text.size() + word.size(), false, i, 0});
    text += word;
  }
  report->input.tokens.push_back({"[SEP]", {}, {}, true, {}, 0});
}

// Softmax of scores that favor neighbors, the first token and, per head, some offset and keys: a few large values and a
// long tail, as in trained models. Row `query` of a head, [n]; seeded by all arguments.
void fill_row(std::size_t layer, std::size_t head, std::size_t query, bool causal, std::vector<float>* row) {
  const std::size_t n = row->size();
  std::uint64_t state = (layer * 131 + head) * 1'000'003 + query + 1;
  const auto uniform = [&] {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return static_cast<float>(state >> 40U) * 0x1p-24F;
  };
  const std::size_t offset = (layer * 7 + head * 3) % 5;
  float sum = 0.0F;
  for (std::size_t key = 0; key < n; ++key) {
    if (causal && key > query) {
      (*row)[key] = 0.0F;
      continue;
    }
    const auto distance = static_cast<float>(query > key ? query - key : key - query);
    // Approximates a normal distribution.
    float score = 2.4F * (uniform() + uniform() + uniform() - 1.5F) - 0.35F * std::log1p(distance);
    if (key == 0) score += 3.0F;
    if (query == key + offset) score += 3.0F;
    if ((key * 2'654'435'761U + head) % 23 == 0) score += 1.5F;
    (*row)[key] = std::exp(score);
    sum += (*row)[key];
  }
  for (float& weight : *row) weight /= sum;
}

struct Sample {
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t n = 0;
  bool causal = false;
  bool attention = false;
};

Report random_report(const Sample& sample) {
  Report report;
  report.model = {"random-attention", sample.causal ? "llama" : "bert", sample.layers, sample.heads, sample.causal};
  add_tokens(sample.n, &report);
  report.output_token = sample.causal ? sample.n - 1 : 0;
  if (sample.attention) report.attention = Tensor<float>({sample.layers, sample.heads, sample.n, sample.n});
  AttentionGraph graph;
  graph.weights = Tensor<double>({sample.layers, sample.n, sample.n});
  std::vector<float> row(sample.n);
  for (std::size_t l = 0; l < sample.layers; ++l) {
    for (std::size_t h = 0; h < sample.heads; ++h) {
      for (std::size_t i = 0; i < sample.n; ++i) {
        fill_row(l, h, i, sample.causal, &row);
        for (std::size_t j = 0; j < sample.n; ++j) {
          graph.weights(l, i, j) += static_cast<double>(row[j]) / static_cast<double>(sample.heads);
          if (sample.attention) report.attention(l, h, i, j) = row[j];
        }
      }
    }
    report.settings.layers.push_back(l + 1);
  }
  for (std::size_t i = 0; i < sample.n; ++i) report.output_tokens.push_back(i);
  report.rollout = rollout(graph);
  FlowResult flow = attention_flow(graph, {.output_token = report.output_token});
  report.flow = std::move(flow.flow);
  report.flow_gap = std::move(flow.flow_gap);
  report.flow_degenerate = std::move(flow.degenerate);
  report.flow_output_tokens = {report.output_token};
  report.raw = std::move(graph.weights);
  report.graph = report.raw;
  return report;
}

void write_samples(const std::filesystem::path& folder) {
  write(folder, "text-small", random_report({.layers = 6, .heads = 12, .n = 12, .attention = true}));
  const Report text = random_report({.layers = 6, .heads = 12, .n = 128});
  write(folder, "text-128", text);
  write_compact(folder, "text-128-log8", text, kDigits);
  write_compact(folder, "text-128-top", text, few_bytes(130'000));
  const Report decoder = random_report({.layers = 4, .heads = 3, .n = 120, .causal = true, .attention = true});
  write(folder, "decoder-120-heads", decoder);
  write_compact(folder, "decoder-120-heads-log8", decoder, few_bytes(400'000));
  write_compact(folder, "decoder-120-heads-top", decoder, few_bytes(160'000));
  using internal::synthetic_picture;
  write(folder, "image-small", synthetic_picture({.rows = 7, .columns = 7}));
  const Report picture = synthetic_picture({.rows = 14, .columns = 14, .layers = 12, .flow = internal::FlowRows::kOne});
  write(folder, "image-196", picture);
  write_compact(folder, "image-196-top", picture, few_bytes(500'000));
  write(folder, "generation-small", internal::usual_generation(20, 12, 6));
  internal::SyntheticGeneration make;
  make.prompt = internal::prompt_pieces(150);
  make.generated = internal::answer_pieces(60);
  make.layers = 8;
  make.generated_columns = true;
  make.normalized = true;
  const Report generation = internal::synthetic_generation(make);
  write(folder, "generation-150x60", generation);
  write_compact(folder, "generation-150x60-log8", generation, kDigits);
  write_compact(folder, "generation-150x60-top", generation, few_bytes(150'000));
}

}  // namespace
}  // namespace attnflow

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: attnflow_sample_documents FOLDER\n");
    return 2;
  }
  try {
    std::filesystem::create_directories(argv[1]);
    attnflow::write_samples(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attnflow_sample_documents: %s\n", error.what());
    return 1;
  }
  return 0;
}

// The extension module attnflow._core: arrays and options in, a report out. Users see the package around it.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/attribution/mixings.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/attribution/query.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/attribution/text_places.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/base/version.h"
#include "attnflow/evaluate/rank_correlation.h"
#include "attnflow/explain/blank_out_agreement.h"
#include "attnflow/explain/contribution_arrays.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/explain_generation.h"
#include "attnflow/explain/mixing_choice.h"
#include "attnflow/explain/report_target.h"
#include "attnflow/graph/mixing.h"
#include "python/binding/arrays.h"
#include "python/binding/edges.h"
#include "python/binding/errors.h"
#include "python/binding/options.h"
#include "python/binding/report.h"
#include "python/binding/work.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

// Messages name the argument as they name a file's path.
constexpr const char* kSource = "attention";

// Takes finished contributions; the mixing must say which they are.
ContributionArrays contributions_of(const GivenArrays& given, const Settings& settings) {
  if (mixing_info(settings.mixing).needs != MixingNeeds::kTerms) throw unnamed_contributions(kSource);
  const auto widened = [](const auto& values) {
    return Tensor<double>(values.shape(), {values.span().begin(), values.span().end()});
  };
  ContributionArrays arrays;
  arrays.contributions = checked_contributions(std::visit(widened, given.stacked()), kSource);
  return arrays;
}

// One layer with its heads fused when it arrived: what Python keeps instead of [head, query, key].
struct FusedLayer {
  FusedAttention only;  // of this layer
  std::size_t tokens = 0;
};

// heads: the layer's number of heads for layers that differ, 0: its own. running: keeps only the layer's shape.
FusedLayer fuse_layer(const ArrayList& attention, std::size_t layer, const OptionDict& options, std::size_t heads,
                      RunningAttention* running) {
  const ExplainOptions asked = read_options(options);
  const GivenArrays given(attention);
  const nb::gil_scoped_release released;
  FusedLayer fused{.only = fused_layer(given.stacked(), layer, kSource, asked)};
  fused.tokens = fused.only.layers.front().extent(0);
  if (heads != 0) fused.only.heads = heads;
  if (running != nullptr) {
    append(*running,
           {.layers = std::exchange(fused.only.layers, {}),
            .heads = fused.only.heads,
            .causal = fused.only.causal,
            .zero_rows = fused.only.zero_rows},
           kSource);
  }
  return fused;
}

// Fuses heads as rollout and flow do, for the queries from `query_begin` on: [head, query, key] -> [query, key].
NumPyArray<const double> fuse_heads_of(const ArrayList& attention, const std::string& heads, std::size_t query_begin) {
  const MixingOptions mixing{.heads = parse_heads(heads).fusion};
  if (mixing.heads == HeadFusion::kSingle) {
    throw Error(ErrorKind::kUsage, "fuse: expected mean, max or min, found '" + heads + "'");
  }
  const GivenArrays given(attention);
  Tensor<double> fused;
  {
    const nb::gil_scoped_release released;
    fused = given.of_first([&](const auto& weights) { return fused_weights(weights, mixing, query_begin); });
  }
  return given_to_numpy<const double>(std::move(fused));
}

// Consumes the layers: a text of 512 tokens has 2 MiB in each.
FusedAttention stack_of(const std::vector<FusedLayer*>& layers) {
  FusedAttention all;
  for (FusedLayer* layer : layers) append(all, std::move(layer->only), kSource);
  return all;
}

// A model's prediction: kind, position, logits, whether each class is a yes or no, and the names of classes or tokens.
using Said = std::tuple<std::string, std::optional<std::size_t>, Logits, bool, NameOf>;

ReportPrediction prediction_of(const Said& said, std::size_t top_k) {
  const auto& [kind, position, logits, multi_label, name] = said;
  const std::span<const float> values(logits.data(), logits.size());
  const auto text = [&](std::int64_t id) { return nb::cast<std::string>(name(id)); };
  std::vector<Prediction> found;
  if (kind == "classification") {
    std::vector<std::string> labels;
    for (std::size_t c = 0; c < values.size(); ++c) labels.push_back(text(static_cast<std::int64_t>(c)));
    found = class_predictions(labels, multi_label, values);
  } else {
    found = top_predictions(values, top_k, text);
  }
  ReportPrediction prediction{.kind = kind, .position = position, .choices = {}, .candidates = {}};
  for (const Prediction& p : found) prediction.choices.push_back({p.text, p.probability});
  return prediction;
}

// A text and its tokens' places in it: begin, end, split. Encoder-decoders have two texts.
using GivenPlace = std::tuple<std::size_t, std::size_t, std::size_t>;
using GivenText = std::pair<std::string, std::vector<std::optional<GivenPlace>>>;

// Fills in as many tokens from `first` on as the text has places. Counts words from `word`; returns the next one.
std::size_t place_in(std::vector<InputToken>& tokens, std::size_t first, const GivenText& given, std::size_t segment,
                     std::size_t word) {
  const auto& [whole, given_places] = given;
  if (first + given_places.size() > tokens.size()) {
    throw Error(ErrorKind::kBadFile, fmt::format("tokens: expected at most {} places in texts, found {}", tokens.size(),
                                                 first + given_places.size()));
  }
  InputText text;
  text.text = whole;
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(given_places.size());
  text.tokens.assign(begin, end);
  std::vector<std::optional<TokenPlace>> places(given_places.size());
  for (std::size_t t = 0; t < places.size(); ++t) {
    if (!given_places[t]) continue;
    const auto& [from, to, split] = *given_places[t];
    places[t] = {.begin = from, .end = to, .split = split};
  }
  place_tokens(text, places);
  std::size_t next = word;
  for (InputToken& token : text.tokens) {
    token.segment = segment;
    if (!token.word) continue;
    *token.word += word;
    next = std::max(next, *token.word + 1);
  }
  std::copy(text.tokens.begin(), text.tokens.end(), begin);
  return next;
}

void place_in(AttentionInput& input, const std::vector<GivenText>& texts) {
  if (texts.empty()) return;
  const std::size_t word = place_in(input.tokens, 0, texts[0], 0, 0);
  input.text = texts[0].first;
  if (texts.size() == 1) return;
  place_in(input.tokens, texts[0].second.size(), texts[1], 1, word);
  input.text_pair = texts[1].first;
}

// Runs the model with blanked tokens: its parameters, the blank, whether to check at any cost, and a function for the
// logit of a class or token less the mean of others' (none in the list: all others), for the text as it is and for each
// group of positions: nothing if all of the group was blank before.
using DroppedIn = std::tuple<double, std::vector<std::optional<double>>>;
using DropIn = nb::typed<nb::callable, DroppedIn(std::size_t, std::optional<std::vector<std::size_t>>,
                                                 std::optional<std::size_t>, TokenGroups)>;
using Check = std::tuple<std::uint64_t, std::string, bool, DropIn>;

// Any prediction at the output token: a text's class at the first token, [CLS], or, for a decoder, at the last.
const Said* said_at(const std::vector<Said>& predictions, const Report& report, const TokenGroups& groups,
                    std::optional<std::size_t> reading) {
  const std::vector<std::size_t>& output = groups[report.output_token];
  const auto is_output = [&](std::size_t position) {
    return std::find(output.begin(), output.end(), position) != output.end();
  };
  const bool of_text = report.model.causal ? is_output(reading.value_or(groups.back().back()))
                                           : output.front() == 0 && report.input.tokens[report.output_token].special;
  for (const Said& said : predictions) {
    const std::optional<std::size_t>& position = std::get<1>(said);
    if (position ? is_output(*position) : of_text) return &said;
  }
  return nullptr;
}

// The target by default.
ReportTarget said_target(const Said& said) {
  const auto& [kind, position, logits, multi_label, name] = said;
  const bool of_class = kind == "classification";
  return target_among(
      {.against = usual_against(of_class)}, of_class ? "class" : kind, {logits.data(), logits.size()},
      [&](std::int64_t id) { return nb::cast<std::string>(name(id)); }, position);
}

// `explained`: the target of a report that explains one prediction.
void check_report(Report& report, const Check& check, const std::vector<Said>& predictions, const TokenGroups& groups,
                  const std::optional<ReportTarget>& explained, std::optional<std::size_t> reading) {
  const auto& [parameters, blank, must, drop_in] = check;
  std::size_t tokens = 0;
  for (const std::vector<std::size_t>& group : groups) tokens += group.size();
  const Said* const said = explained ? nullptr : said_at(predictions, report, groups, reading);
  if (!explained && said == nullptr) return;
  const double work = explained ? kAgreementWork : kCheckWork;
  if (!(must || agreement_is_cheap(parameters, tokens, groups.size(), work))) return;
  const ReportTarget target = explained ? *explained : said_target(*said);
  const std::optional<std::size_t> position = target.position;
  const auto [value, values] = nb::cast<DroppedIn>(drop_in(target.index, others_of(target), position, groups));
  BlankOut blanked{.value = value, .blanked = {}};
  for (const std::optional<double>& one : values) blanked.blanked.push_back(one.value_or(value));
  const bool finite =
      std::isfinite(value) && std::ranges::all_of(blanked.blanked, [](double v) { return std::isfinite(v); });
  if (blanked.blanked.size() != groups.size() || !finite) {
    if (!must) return;
    throw Error(ErrorKind::kBadFile,
                fmt::format("check=True: expected {} finite values, found {}{}; the model overflows where tokens are "
                            "blanked; omit check, or load the model in float32",
                            groups.size(), values.size(), finite ? "" : ", some not finite"));
  }
  report.agreement = blank_out_agreement(report, report.output_token, blanked,
                                         {.quantity = explained ? plain_quantity(target) : compared_quantity(target),
                                          .blank = blank,
                                          // A decoder's class depends on the tokens up to where it is read.
                                          .position = position ? position : reading,
                                          .groups = groups});
  note_agreement(*report.agreement, report.input, report.notes);
}

// An encoder-decoder as one graph: tokens of the source, layers of the encoder, layers of the decoder.
using Joint = std::tuple<std::size_t, std::size_t, std::size_t>;

Report explain_arrays(const ArrayList& attention, const ArrayList& contributions,
                      const std::vector<std::string>& tokens, const std::vector<bool>& special, const std::string& name,
                      const OptionDict& options, const std::optional<Progress>& progress,
                      const std::vector<FusedLayer*>& fused, const std::vector<GivenText>& texts,
                      const std::string& architecture, const std::vector<Said>& predictions,
                      const std::optional<Joint>& joint, const std::optional<Check>& check,
                      const std::vector<EdgeLayer*>& edges, const ReportTarget* target, const Notes* notes,
                      std::optional<std::size_t> reading, RunningAttention* running, bool only_values) {
  ExplainOptions asked = read_options(options);
  asked.only_values = only_values;
  const GivenArrays weights(attention);
  const GivenArrays made(contributions);
  if (weights.empty() && made.empty() && fused.empty() && edges.empty()) {
    throw Error(ErrorKind::kBadFile, "attention: expected an array with at least one layer, found none");
  }
  if (made.empty() && edges.empty() && mixing_info(asked.settings.mixing).needs == MixingNeeds::kTerms) {
    throw Error(ErrorKind::kUsage,
                fmt::format("mixing {}: expected finished contributions [layer, query, key], found attention by head",
                            to_text(asked.settings.mixing)));
  }
  AttentionInput input;
  input.name = name;
  input.architecture = architecture;
  if (notes != nullptr) input.notes = notes->all;
  input.reading = reading;
  if (!edges.empty()) input.edges = edges_of(edges, target);
  for (const Said& said : predictions) input.predictions.push_back(prediction_of(said, asked.settings.top_k));
  if (joint) {
    const auto& [source, encoder, decoder] = *joint;
    input.notes.push_back({NoteCode::kJointLayers,
                           {{"source_tokens", source}, {"encoder_layers", encoder}, {"decoder_layers", decoder}}});
  }
  Report report;
  TokenGroups groups;
  run_without_lock(
      [&](const ProgressFunction& tell, const std::stop_token& stop) {
        asked.progress = tell;
        asked.stop_token = stop;
        if (running != nullptr) {
          input.running = std::move(*running);
        } else if (!weights.empty() && (input.running = running_attention(asked, weights.size()))) {
          for (std::size_t l = 1; l <= weights.size(); ++l) {
            append(*input.running, fused_layer(weights.layer(l), l, kSource, asked), kSource);
          }
        } else if (!weights.empty()) {
          input.stack = attention_stack(weights.stacked(), kSource, asked, input.zero_rows);
        }
        if (!made.empty()) input.contributions = contributions_of(made, asked.settings);
        if (!fused.empty()) input.fused = stack_of(fused);
        set_tokens(input, tokens, special, kSource);
        place_in(input, texts);
        groups = asked.settings.words ? word_groups(input.tokens) : single_tokens(input.tokens.size());
        report = explain_attention(std::move(input), asked);
      },
      progress);
  if (check)
    check_report(report, *check, predictions, groups, target == nullptr ? std::nullopt : std::optional(*target),
                 reading);
  return report;
}

std::vector<InputToken> tokens_of(const std::vector<std::string>& texts, const std::vector<bool>& special) {
  if (special.size() != texts.size()) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("tokens: expected {} special flags, found {}", texts.size(), special.size()));
  }
  std::vector<InputToken> tokens(texts.size());
  for (std::size_t t = 0; t < texts.size(); ++t) {
    tokens[t].text = texts[t];
    tokens[t].special = special[t];
  }
  return tokens;
}

// The position of the output token, before words are merged.
InputText input_text(const std::vector<std::string>& tokens, const std::vector<bool>& special,
                     const std::vector<GivenText>& texts) {
  AttentionInput input;
  input.tokens = tokens_of(tokens, special);
  place_in(input, texts);
  InputText text;
  text.text = input.text.value_or("");
  text.text_pair = input.text_pair;
  text.tokens = std::move(input.tokens);
  return text;
}

std::size_t output_position(const std::vector<std::string>& tokens, const std::vector<bool>& special,
                            const std::vector<GivenText>& texts, const OptionDict& options, bool causal) {
  const ExplainOptions asked = read_options(options);
  std::vector<Note> notes;  // the report says them
  return resolve_output_token(asked.settings.output_token, input_text(tokens, special, texts), causal,
                              asked.settings.words, notes);
}

// Whether a model with a head of this kind predicts something at the output token; `last`: where a decoder does.
bool predicts_at_output(const std::vector<std::string>& tokens, const std::vector<bool>& special,
                        const std::vector<GivenText>& texts, const OptionDict& options, const std::string& kind,
                        bool causal, std::size_t last) {
  const PredictsAt at = kind == "next" || (kind == "classification" && causal) ? PredictsAt::kLastToken
                        : kind == "classification"                             ? PredictsAt::kClassToken
                        : kind == "masked"                                     ? PredictsAt::kMask
                                                                               : PredictsAt::kNowhere;
  return is_predicted_at(at, read_options(options).settings, input_text(tokens, special, texts), last);
}

// A generated token: id, piece, bytes in the text, whether it is special, and the logits that chose it, at `position`.
using Generated = std::tuple<std::int64_t, std::string, std::size_t, std::size_t, bool, Logits>;

GeneratedToken generated_token(const Generated& given, std::size_t choices, const IdToText& name, Mixing mixing,
                               std::size_t position) {
  const auto& [id, piece, begin, end, special, values] = given;
  const std::span<const float> logits(values.data(), values.size());
  GeneratedToken token;
  token.id = id;
  token.text = piece;
  token.begin = begin;
  token.end = end;
  token.special = special;
  token.probability = candidate_predictions(logits, std::span(&id, 1), name).front().probability;
  for (const Prediction& p : top_predictions(logits, choices, name))
    token.choices.push_back({p.text, p.probability, p.id});
  if (mixing_info(mixing).needs == MixingNeeds::kAttention) return token;
  const AskedTarget chosen{.label = static_cast<std::size_t>(id), .against = usual_against(/*of_class=*/false)};
  token.target = target_among(chosen, "next", logits, name, position);
  return token;
}

Report explain_generation_arrays(const ArrayList& attention, const std::vector<FusedLayer*>& fused,
                                 const std::vector<std::string>& tokens, const std::vector<bool>& special,
                                 const std::vector<GivenText>& texts, const std::vector<Generated>& generated,
                                 const std::string& text, const std::string& stopped,
                                 const std::tuple<double, double, std::uint64_t>& sampling, bool chat,
                                 const NameOf& name_of, const std::string& name, const std::string& architecture,
                                 const OptionDict& options, const std::optional<Progress>& progress,
                                 const std::vector<EdgeLayer*>& edges) {
  GenerationOptions asked = read_generation_options(options);
  constexpr std::size_t kChoices = 5;  // as the program keeps
  const GivenArrays weights(attention);
  GenerationInput input;
  input.name = name;
  input.architecture = architecture;
  Generation& generation = input.generation;
  generation.text = text;
  generation.stopped = stopped;
  generation.sampling = {std::get<0>(sampling), std::get<1>(sampling), std::get<2>(sampling)};
  generation.chat = chat;
  const IdToText id_to_text = [&](std::int64_t id) { return nb::cast<std::string>(name_of(id)); };
  for (std::size_t t = 0; t < generated.size(); ++t) {
    generation.tokens.push_back(
        generated_token(generated[t], kChoices, id_to_text, asked.explain.settings.mixing, tokens.size() + t - 1));
  }
  if (!edges.empty()) input.edges = edges_of(edges, nullptr);
  input.prompt.tokens = tokens_of(tokens, special);
  if (!texts.empty()) {
    place_in(input.prompt.tokens, 0, texts[0], 0, 0);
    input.prompt.text = texts[0].first;
  }
  Report report;
  run_without_lock(
      [&](const ProgressFunction& tell, const std::stop_token& stop) {
        asked.explain.progress = tell;
        asked.explain.stop_token = stop;
        if (!weights.empty()) {
          input.stack = attention_stack(weights.stacked(), kSource, asked.explain, input.zero_rows);
        }
        if (!fused.empty()) input.fused = stack_of(fused);
        report = explain_generation(std::move(input), asked.explain, asked.columns);
      },
      progress);
  return report;
}

}  // namespace
}  // namespace attnflow::python

NB_MODULE(_core, module) {
  using namespace attnflow::python;
  namespace nb = nanobind;
  nb::set_leak_warnings(false);  // of reports that live as long as the interpreter
  raise_errors_in_python();
  bind_report(module);
  bind_edges(module);
  module.def("version", [] { return ATTNFLOW_VERSION; });
  module.def("described_options", described_options, nb::arg("asks"));
  module.def(
      "nearest_name",
      [](const std::string& typed, const std::vector<std::string>& names) {
        return attnflow::internal::nearest_name(typed, names);
      },
      nb::arg("typed"), nb::arg("names"));
  nb::class_<FusedLayer>(module, "FusedLayer").def_prop_ro("shape", [](const FusedLayer& fused) {
    return std::tuple(1, fused.only.heads, fused.tokens, fused.tokens);
  });
  nb::class_<attnflow::RunningAttention>(module, "Running");
  module.def(
      "running", [](const OptionDict& options) { return attnflow::running_attention(read_options(options)); },
      nb::arg("options"));
  module.def("fuse_layer", fuse_layer, nb::arg("attention"), nb::arg("layer"), nb::arg("options"), nb::arg("heads") = 0,
             nb::arg("running").none() = nb::none());
  module.def(
      "can_fuse", [](const OptionDict& options) { return attnflow::can_fuse(read_options(options)); },
      nb::arg("options"));
  module.def("fuse_heads", fuse_heads_of, nb::arg("attention"), nb::arg("heads"), nb::arg("query_begin") = 0);
  using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig>;
  module.def(
      "spearman",
      [](const Values& first, const Values& second, const Values& first_gaps, const Values& second_gaps) {
        const auto span = [](const Values& values) { return std::span<const double>(values.data(), values.size()); };
        return attnflow::spearman(span(first), span(second),
                                  {.first_gaps = span(first_gaps), .second_gaps = span(second_gaps)});
      },
      nb::arg("first"), nb::arg("second"), nb::arg("first_gaps"), nb::arg("second_gaps"));
  module.def("explain", explain_arrays, nb::arg("attention"), nb::arg("contributions"), nb::arg("tokens"),
             nb::arg("special"), nb::arg("name"), nb::arg("options"), nb::arg("progress"),
             nb::arg("fused") = nb::tuple(), nb::arg("texts") = nb::tuple(), nb::arg("architecture") = "",
             nb::arg("predictions") = nb::tuple(), nb::arg("joint") = nb::none(), nb::arg("check") = nb::none(),
             nb::arg("edges") = nb::tuple(), nb::arg("target").none() = nb::none(),
             nb::arg("notes").none() = nb::none(), nb::arg("reading") = nb::none(),
             nb::arg("running").none() = nb::none(), nb::arg("only_values") = false);
  module.def("output_position", output_position, nb::arg("tokens"), nb::arg("special"), nb::arg("texts"),
             nb::arg("options"), nb::arg("causal"));
  module.def("predicts_at_output", predicts_at_output, nb::arg("tokens"), nb::arg("special"), nb::arg("texts"),
             nb::arg("options"), nb::arg("kind"), nb::arg("causal"), nb::arg("last"));
  module.def("explain_generation", explain_generation_arrays, nb::arg("attention"), nb::arg("fused"), nb::arg("tokens"),
             nb::arg("special"), nb::arg("texts"), nb::arg("generated"), nb::arg("text"), nb::arg("stopped"),
             nb::arg("sampling"), nb::arg("chat"), nb::arg("name_of"), nb::arg("name"), nb::arg("architecture"),
             nb::arg("options"), nb::arg("progress"), nb::arg("edges"));
  module.def(
      "check_generation_options", [](const OptionDict& options) { read_generation_options(options); },
      nb::arg("options"));
}

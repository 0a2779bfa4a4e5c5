#include "python/binding/text_model.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>

#include "attnflow/attribution/text_places.h"
#include "attnflow/base/error.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_sink.h"
#include "python/binding/arrays.h"
#include "python/binding/edges.h"
#include "python/binding/errors.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

template <typename T>
T field(const nb::object& owner, const char* name) {
  return nb::cast<T>(owner.attr(name));
}

nb::str python_text(std::string_view bytes) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

Tensor<float> copy_of(const Floats& array) {
  const TensorView<const float> view = view_of<float>(array);
  return {view.shape(), {view.span().begin(), view.span().end()}};
}

// A text and its tokens' places in it: begin, end, split.
using GivenPlace = std::tuple<std::size_t, std::size_t, std::size_t>;
using GivenText = std::pair<std::string, std::vector<std::optional<GivenPlace>>>;

// Fills in as many tokens from `first` on as the text has places. Counts words from `word`; returns the next one.
std::size_t place_in(std::vector<InputToken>& tokens, std::size_t first, const GivenText& given, std::size_t segment,
                     std::size_t word) {
  const auto& [whole, given_places] = given;
  InputText text;
  text.text = whole;
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
  text.tokens.assign(begin, begin + static_cast<std::ptrdiff_t>(given_places.size()));
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

// Id, piece, whether it is special, and its type.
using GivenToken = std::tuple<std::int64_t, std::string, bool, std::int64_t>;

Encoding encoding_of(const std::vector<GivenToken>& given, const std::vector<GivenText>& texts) {
  std::vector<InputToken> tokens(given.size());
  for (std::size_t t = 0; t < given.size(); ++t) {
    tokens[t].text = std::get<1>(given[t]);
    tokens[t].special = std::get<2>(given[t]);
  }
  std::size_t first = 0;
  std::size_t word = 0;
  for (std::size_t segment = 0; segment < texts.size(); ++segment) {
    if (first + texts[segment].second.size() > tokens.size()) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("tokens: expected at most {} places in texts, found more", tokens.size()));
    }
    word = place_in(tokens, first, texts[segment], segment, word);
    first += texts[segment].second.size();
  }
  Encoding encoding;
  encoding.has_places = !texts.empty();
  for (std::size_t t = 0; t < given.size(); ++t) {
    const InputToken& token = tokens[t];
    encoding.tokens.push_back({.id = std::get<0>(given[t]),
                               .text = token.text,
                               .begin = token.begin,
                               .end = token.end,
                               .special = token.special,
                               .word = token.word,
                               .segment = token.segment,
                               .type_id = std::get<3>(given[t])});
  }
  return encoding;
}

ModelHead head_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, ModelHead>, 6> kHeads = {{
      {"classification", ModelHead::kClassification},
      {"token-classification", ModelHead::kTokenClassification},
      {"answer", ModelHead::kQuestionAnswering},
      {"masked", ModelHead::kMaskedLm},
      {"next", ModelHead::kCausalLm},
      {"embedding", ModelHead::kEmbedding},
  }};
  const auto found = std::find_if(kHeads.begin(), kHeads.end(), [&](const auto& head) { return head.first == name; });
  return found == kHeads.end() ? ModelHead::kNone : found->second;
}

void take_pooling(const std::string& pooling, ModelInfo& info) {
  info.pooling = pooling == "cls" ? Pooling::kFirstToken : Pooling::kMean;
  if (pooling == "mean" || pooling == "cls") return;
  info.head = ModelHead::kNone;
  info.unknown_embedding = pooling;
}

ModelInfo info_of(const nb::object& given) {
  ModelInfo info;
  info.name = field<std::string>(given, "name");
  info.architecture = field<std::string>(given, "architecture");
  info.layers = field<std::size_t>(given, "layers");
  info.heads = field<std::size_t>(given, "heads");
  info.hidden = field<std::size_t>(given, "hidden");
  info.vocabulary = field<std::size_t>(given, "vocabulary");
  info.max_tokens = field<std::size_t>(given, "max_tokens");
  info.causal = field<bool>(given, "causal");
  info.norms_after = field<bool>(given, "norms_after");
  info.head = head_of(field<std::string>(given, "head"));
  if (info.head == ModelHead::kEmbedding) take_pooling(field<std::string>(given, "pooling"), info);
  info.labels = field<std::vector<std::string>>(given, "labels");
  info.classifies_first_token = field<bool>(given, "classifies_first_token");
  info.multi_label = field<bool>(given, "multi_label");
  info.padding = field<std::optional<std::int64_t>>(given, "padding");
  info.parameters = field<std::size_t>(given, "parameters");
  if (const nb::object image = given.attr("image"); !image.is_none()) {
    ImageInfo& picture = info.image.emplace();
    picture.channels = field<std::size_t>(image, "channels");
    picture.height = field<std::size_t>(image, "height");
    picture.width = field<std::size_t>(image, "width");
    picture.patch_height = field<std::size_t>(image, "patch_height");
    picture.patch_width = field<std::size_t>(image, "patch_width");
    if (field<bool>(image, "has_class")) picture.leading.push_back(TokenRole::kClass);
    if (field<bool>(image, "has_distillation")) picture.leading.push_back(TokenRole::kDistillation);
    picture.leading.insert(picture.leading.end(), field<std::size_t>(image, "registers"), TokenRole::kRegister);
  }
  using Joint = std::tuple<std::size_t, std::size_t, std::vector<std::int64_t>>;
  if (auto joint = field<std::optional<Joint>>(given, "joint")) {
    auto& [encoder, decoder, begin] = *joint;
    info.target = TargetInfo{
        .begin = std::move(begin), .max_tokens = info.max_tokens, .encoder_layers = encoder, .decoder_layers = decoder};
  }
  return info;
}

// Kind, label, others, position, and direction.
using GivenTarget =
    std::tuple<const char*, std::size_t, std::vector<std::size_t>, std::optional<std::size_t>, std::vector<float>>;

GivenTarget given_target(const ScoreTarget& target) {
  constexpr std::array kKinds = {"logit", "difference", "rest", "probability", "probability-difference", "cosine"};
  return {kKinds[static_cast<std::size_t>(target.kind)], target.label, target.others, target.position,
          target.direction};
}

// Python's object hands rows over to a sink of the library, whose own exception is kept: Python passes on a copy.
struct Handover {
  std::exception_ptr failed;

  void guarded(const auto& function) {
    try {
      function();
    } catch (...) {
      failed = std::current_exception();
      throw;
    }
  }
};

struct LayerSink : Handover {
  AttentionSink& sink;
  const ExplainOptions& options;
  ZeroRows& zeros;

  LayerSink(AttentionSink& to, const ExplainOptions& checks, ZeroRows& found)
      : sink(to), options(checks), zeros(found) {}

  // [head, query, key] of all queries. `divide`: rows that half precision rounded are divided by their sums.
  // `check`: other rows must sum to 1.
  void layer(std::size_t number, const Floats& attention, bool divide, bool check) {
    guarded([&] {
      const nb::gil_scoped_release released;
      const TensorView<const float> given = view_of<float>(attention);
      ExplainOptions asked = options;
      asked.renormalize = asked.renormalize || divide;
      asked.any_weights = asked.any_weights || (!check && !asked.renormalize);
      const Tensor<float> rows = checked_layer(given, number, "attention", asked, zeros);
      sink.layer(number, 0, rows.empty() ? given : std::as_const(rows).view());
    });
  }

  void terms(GivenTerms& given) {
    guarded([&] {
      const nb::gil_scoped_release released;
      sink.terms(given.terms);
    });
  }
};

struct GradientSink : Handover {
  AttentionGradientSink& sink;

  explicit GradientSink(AttentionGradientSink& to) : sink(to) {}

  void top(const Floats& residual, const Floats& gradient) {
    guarded([&] {
      const nb::gil_scoped_release released;
      sink.top(view_of<float>(residual), view_of<float>(gradient));
    });
  }

  void layer(std::size_t number, const Floats& attention, const Floats& gradient, const std::optional<Floats>& residual,
             const std::optional<Floats>& output_gradient) {
    guarded([&] {
      const nb::gil_scoped_release released;
      const auto view = [](const std::optional<Floats>& array) {
        return array ? view_of<float>(*array) : TensorView<const float>();
      };
      sink.layer({.layer = number,
                  .attention = view_of<float>(attention),
                  .attention_gradient = view_of<float>(gradient),
                  .residual = view(residual),
                  .output_gradient = view(output_gradient)});
    });
  }
};

// The input as Python's object takes it: two arguments. With the interpreter's lock.
nb::tuple as_python(const TextInput& input) { return nb::make_tuple(input.ids, input.type_ids); }
nb::tuple as_python(const PixelInput& input) {
  const Tensor<float>& pixels = input.pixels;
  return nb::make_tuple(given_to_numpy<float>({pixels.shape(), {pixels.span().begin(), pixels.span().end()}}),
                        nb::list());
}

// Calls function() with what it hands over, and throws the sink's own exception where Python passes on a copy.
void with_handover(Handover& handover, const auto& function) {
  try {
    function();
  } catch (...) {
    if (handover.failed) std::rethrow_exception(handover.failed);
    throw;
  }
}

}  // namespace

PythonCodec::PythonCodec(nb::object backend) : backend_(std::move(backend)) {
  const auto texts = field<std::vector<GivenText>>(backend_, "texts");
  encoding_ = encoding_of(field<std::vector<GivenToken>>(backend_, "tokens"), texts);
  encoding_.source = field<std::size_t>(backend_, "source");
  if (!texts.empty()) text_ = texts[0].first;
  if (texts.size() > 1) pair_ = texts[1].first;
  limit_ = field<std::size_t>(backend_, "vocabulary");
  mask_ = field<std::optional<std::int64_t>>(backend_, "mask_id");
  unknown_ = field<std::optional<std::int64_t>>(backend_, "unknown_id");
  padding_ = field<std::optional<std::int64_t>>(backend_, "padding_id");
  for (const std::int64_t id : field<std::vector<std::int64_t>>(backend_, "special_ids")) specials_.insert(id);
  for (const std::int64_t id : field<std::vector<std::int64_t>>(backend_, "end_ids")) ends_.insert(id);
  source_ = field<std::string>(backend_, "tokenizer_name");
}

Encoding PythonCodec::encode(std::string_view text, const std::optional<std::string>& pair,
                             const EncodeOptions& /*options*/) const {
  if (text == text_) return encoding_;
  const nb::gil_scoped_acquire acquired;
  nb::object given = python_text(text);
  if (pair) given = nb::make_tuple(given, python_text(*pair));
  try {
    const nb::object read = backend_.attr("read")(given);
    return encoding_of(field<std::vector<GivenToken>>(read, "tokens"), field<std::vector<GivenText>>(read, "texts"));
  } catch (nb::python_error& error) {
    throw_own_error(error);
    throw;
  }
}

std::vector<std::int64_t> PythonCodec::word_to_ids(std::string_view word) const {
  const nb::gil_scoped_acquire acquired;
  return nb::cast<std::vector<std::int64_t>>(backend_.attr("word_to_ids")(python_text(word)));
}
std::string PythonCodec::spelled(std::int64_t id) const {
  const nb::gil_scoped_acquire acquired;
  return nb::cast<std::string>(backend_.attr("spelled")(id));
}
std::string PythonCodec::readable(std::int64_t id) const {
  const nb::gil_scoped_acquire acquired;
  return nb::cast<std::string>(backend_.attr("readable")(id));
}
std::string PythonCodec::bytes(std::int64_t id) const {
  const nb::gil_scoped_acquire acquired;
  const auto found = nb::cast<nb::bytes>(backend_.attr("bytes_of")(id));
  return {found.c_str(), found.size()};
}
std::string PythonCodec::chat(const std::vector<ChatMessage>& messages) const {
  const nb::gil_scoped_acquire acquired;
  nb::list turns;
  for (const ChatMessage& message : messages) {
    nb::dict turn;
    turn["role"] = python_text(message.role);
    turn["content"] = python_text(message.text);
    turns.append(turn);
  }
  try {
    return nb::cast<std::string>(backend_.attr("chat")(turns));
  } catch (nb::python_error& error) {  // of a template, whatever it raises
    throw Error(ErrorKind::kUnsupportedModel, error.what());
  }
}

void PythonBackend::call(const std::function<void(const nb::object& object)>& function) const {
  caller_.run([&] {
    try {
      function(object_);
    } catch (nb::python_error& error) {
      throw_own_error(error);
      throw;
    }
  });
}

template <typename Base, typename Input>
PythonModel<Base, Input>::PythonModel(const PythonBackend& backend, const ExplainOptions& options)
    : backend_(backend), options_(options) {
  backend_.call([this](const nb::object& object) { info_ = info_of(object.attr("info")); });
}

template <typename Base, typename Input>
ModelOutput PythonModel<Base, Input>::run(const Input& input, AttentionSink* sink, const RunOptions& options) {
  ModelOutput output;
  backend_.call([&](const nb::object& backend) {
    std::optional<LayerSink> layers;
    nb::object given = nb::none();
    if (sink != nullptr) {
      given = nb::cast(&layers.emplace(*sink, options_, zeros_), nb::rv_policy::reference);
    }
    const auto work = [&] {
      const nb::object found = backend.attr("run")(*as_python(input), given, options.logit_positions);
      if (!found.is_none()) output.logits = copy_of(nb::cast<Floats>(found));
    };
    if (layers) {
      with_handover(*layers, work);
    } else {
      work();
    }
  });
  return output;
}

template <typename Base>
void PythonText<Base>::logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                                      const BatchOptions& options, const TakeLogits& take) {
  for (std::size_t done = 0; done < inputs.size();) {
    const std::size_t most = std::max<std::size_t>(1, options.max_tokens / inputs[done].ids.size());
    const std::size_t some = std::min(most, inputs.size() - done);
    if (options.stop_token.stop_requested()) throw Cancelled();
    std::vector<Tensor<float>> found;
    this->backend().call([&](const nb::object& backend) {
      std::vector<std::vector<std::int64_t>> ids;
      std::vector<std::vector<std::int64_t>> types;
      for (const TextInput& input : inputs.subspan(done, some)) {
        ids.push_back(input.ids);
        types.push_back(input.type_ids);
      }
      // As many as it runs at once.
      for (const nb::handle one : backend.attr("logits_of_each")(ids, types, position)) {
        found.push_back(copy_of(nb::cast<Floats>(one)));
      }
    });
    for (const Tensor<float>& logits : found) take(done++, logits.span());
    if (options.progress) options.progress(done, inputs.size());
  }
}

template <typename Base, typename Input>
bool PythonModel<Base, Input>::has_terms() const {
  bool found = false;
  backend_.call([&](const nb::object& backend) { found = nb::cast<bool>(backend.attr("has_terms")()); });
  return found;
}

template <typename Input>
std::vector<InputGradient> PythonGradients<Input>::input_gradients(std::span<const Input> inputs,
                                                                   std::span<const ScoreTarget> targets,
                                                                   const BatchOptions& options) {
  std::vector<InputGradient> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (options.stop_token.stop_requested()) throw Cancelled();
    backend_.call([&](const nb::object& backend) {
      nb::object at = nb::none();
      if (!options.embeddings.empty()) {
        const Tensor<float>& embedding = options.embeddings[i];
        at = nb::cast(given_to_numpy<float>({embedding.shape(), {embedding.span().begin(), embedding.span().end()}}));
      }
      const bool by_rules = options.rule == BackwardRule::kAttnLrp;
      const nb::object found =
          backend.attr("input_gradient")(*as_python(inputs[i]), given_target(targets[i]), by_rules, at);
      const auto& [value, embedding, gradient] = nb::cast<std::tuple<double, Floats, Floats>>(found);
      all.push_back({.value = value, .embedding = copy_of(embedding), .gradient = copy_of(gradient)});
    });
    if (options.progress) options.progress(i + 1, inputs.size());
  }
  return all;
}

template <typename Input>
void PythonGradients<Input>::prepare() {
  backend_.call([](const nb::object& backend) { backend.attr("prepare_gradients")(); });
}

template <typename Input>
void PythonGradients<Input>::attention_gradients(const Input& input, const ScoreTarget& target,
                                                 AttentionGradientSink& sink, BackwardRule rule) {
  backend_.call([&](const nb::object& backend) {
    GradientSink layers(sink);
    const nb::object given = nb::cast(&layers, nb::rv_policy::reference);
    with_handover(layers, [&] {
      backend.attr("attention_gradients")(*as_python(input), given_target(target), given,
                                          rule == BackwardRule::kAttnLrp);
    });
  });
}

template class PythonGradients<TextInput>;
template class PythonGradients<PixelInput>;
template class PythonModel<TextModel, TextInput>;
template class PythonModel<Decoder, TextInput>;
template class PythonModel<VisionModel, PixelInput>;
template class PythonText<TextModel>;
template class PythonText<Decoder>;

std::vector<Tensor<float>> PythonVisionModel::classify(std::span<const PixelInput> inputs,
                                                       const BatchOptions& options) {
  std::vector<Tensor<float>> all;
  for (const PixelInput& input : inputs) {
    if (options.stop_token.stop_requested()) throw Cancelled();
    all.push_back(run(input, nullptr, {}).logits);
    if (options.progress) options.progress(all.size(), inputs.size());
  }
  return all;
}

void PythonDecoder::rewind(std::size_t length) {
  if (length > ids_.size()) {
    throw Error(ErrorKind::kUsage, fmt::format("expected at most {} tokens to keep, found {}", ids_.size(), length));
  }
  ids_.resize(length);
}

Tensor<float> PythonDecoder::append(std::span<const std::int64_t> ids, AttentionSink* sink,
                                    const std::stop_token& stop) {
  const Tensor<float> logits = append_each(ids, ids.size() - 1, sink, stop);
  return {Shape{logits.size()}, {logits.span().begin(), logits.span().end()}};
}

Tensor<float> PythonDecoder::append_each(std::span<const std::int64_t> ids, std::size_t first, AttentionSink* sink,
                                         const std::stop_token& stop) {
  if (!ids_.empty()) {
    throw Error(ErrorKind::kUnsupportedModel, "expected the tokens of a text at once, found them one by one");
  }
  if (stop.stop_requested()) throw Cancelled();
  ids_.assign(ids.begin(), ids.end());
  RunOptions options;
  for (std::size_t position = first; position < ids.size(); ++position) options.logit_positions.push_back(position);
  return this->run({.ids = ids_, .type_ids = {}}, sink, options).logits;
}

std::unique_ptr<AttentionReplay> PythonDecoder::run_for_replay(std::span<const std::int64_t> /*ids*/,
                                                               Tensor<float>* /*logits*/,
                                                               const std::stop_token& /*stop*/,
                                                               const ProgressFunction& /*progress*/) {
  throw Error(ErrorKind::kUnsupportedModel,
              "expected a model of files, whose rows of attention can be computed one by one, found a loaded one");
}

void bind_text_model(nb::module_& module) {
  nb::class_<LayerSink>(module, "LayerSink")
      .def_prop_ro("wants_terms", [](const LayerSink& layers) { return layers.sink.wants_terms(); })
      .def("layer", &LayerSink::layer, nb::arg("number"), nb::arg("attention"), nb::arg("divide"), nb::arg("check"))
      .def("terms", &LayerSink::terms, nb::arg("terms"));
  nb::class_<GradientSink>(module, "GradientSink")
      .def_prop_ro("wants_layers", [](const GradientSink& layers) { return layers.sink.wants_layers(); })
      .def("top", &GradientSink::top, nb::arg("residual"), nb::arg("gradient"))
      .def("layer", &GradientSink::layer, nb::arg("number"), nb::arg("attention"), nb::arg("gradient"),
           nb::arg("residual").none(), nb::arg("output_gradient").none());
}

}  // namespace attnflow::python

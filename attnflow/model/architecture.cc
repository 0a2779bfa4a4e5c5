#include "attnflow/model/architecture.h"

#include <array>
#include <utility>

namespace attnflow {

namespace {

constexpr Architecture bert(std::string_view model_type, std::string_view class_name, std::string_view prefix,
                            std::string_view pooler) {
  return {
      .model_type = model_type,
      .class_name = class_name,
      .prefix = prefix,
      .masked_lm = {.dense = "cls.predictions.transform.dense",
                    .norm = "cls.predictions.transform.LayerNorm",
                    .decoder = "cls.predictions.decoder",
                    .bias = "cls.predictions.bias"},
      .classifier = {.dense = pooler},
  };
}

// Trained to tell replaced words; narrow embeddings.
constexpr Architecture electra() {
  Architecture row = bert("electra", "Electra", "electra.", {});
  row.keys.embedding = "embedding_size";
  row.embeddings.projection = "embeddings_project";
  row.masked_lm = {.dense = "generator_predictions.dense",
                   .norm = "generator_predictions.LayerNorm",
                   .decoder = "generator_lm_head",
                   .bias = "generator_lm_head.bias",
                   .activation = Activation::kGelu};
  row.classifier = {.dense = "classifier.dense", .activation = Activation::kGelu, .output = "classifier.out_proj"};
  return row;
}

// Its tensors keep BERT's prefix.
constexpr Architecture megatron_bert() {
  Architecture row = bert("megatron-bert", "MegatronBert", "bert.", "bert.pooler.dense");
  row.embeddings.norm = {};
  row.layer.attention_norm = "attention.ln";
  row.layer.feed_forward_norm = "ln";
  row.norm_place = NormPlace::kBefore;
  row.final_norm = "encoder.ln";
  return row;
}

constexpr Architecture roberta(std::string_view model_type, std::string_view class_name, std::string_view prefix) {
  return {
      .model_type = model_type,
      .class_name = class_name,
      .prefix = prefix,
      .keys = {.padding_id = "pad_token_id"},
      .masked_lm = {.dense = "lm_head.dense",
                    .norm = "lm_head.layer_norm",
                    .decoder = "lm_head.decoder",
                    .bias = "lm_head.bias",
                    .activation = Activation::kGelu},
      .classifier = {.dense = "classifier.dense", .output = "classifier.out_proj"},
  };
}

constexpr Architecture vit(std::string_view model_type, std::string_view class_name, std::string_view prefix) {
  return {
      .model_type = model_type,
      .class_name = class_name,
      .prefix = prefix,
      .keys = {.token_types = {}, .qkv_bias = "qkv_bias"},
      .layer = {.query = "attention.attention.query",
                .key = "attention.attention.key",
                .value = "attention.attention.value",
                .attention_norm = "layernorm_before",
                .feed_forward_norm = "layernorm_after"},
      .norm_place = NormPlace::kBefore,
      .final_norm = "layernorm",
      .classifier = {.dense = {}, .task = "ForImageClassification"},
      .image = ImageNames{},
  };
}

// ViT, trained without labels to see a picture and parts of it alike.
constexpr Architecture vit_msn() {
  Architecture row = vit("vit_msn", "ViTMSN", "vit.");
  row.default_norm_eps = 1e-6;
  return row;
}

// A second class token, which learns from a teacher, and heads on either or both.
constexpr Architecture deit() {
  Architecture row = vit("deit", "DeiT", "deit.");
  row.image->distillation_token = "embeddings.distillation_token";
  row.classifier.teacher_task = "ForImageClassificationWithTeacher";
  row.classifier.teacher_first = "cls_classifier";
  row.classifier.teacher_second = "distillation_classifier";
  return row;
}

constexpr Architecture dinov2(std::string_view model_type, std::string_view class_name, std::string_view prefix) {
  Architecture row = vit(model_type, class_name, prefix);
  row.keys.intermediate = {};
  row.keys.mlp_ratio = "mlp_ratio";
  row.keys.gated = "use_swiglu_ffn";
  row.layer.attention_norm = "norm1";
  row.layer.feed_forward_in = "mlp.fc1";
  row.layer.feed_forward_out = "mlp.fc2";
  row.layer.feed_forward_norm = "norm2";
  row.layer.attention_scale = "layer_scale1.lambda1";
  row.layer.feed_forward_scale = "layer_scale2.lambda1";
  row.layer.gated_in = "mlp.weights_in";
  row.layer.gated_out = "mlp.weights_out";
  row.classifier.input = ClassifierInput::kFirstTokenAndPatches;
  row.default_norm_eps = 1e-6;
  return row;
}

constexpr Architecture dinov2_with_registers() {
  Architecture row = dinov2("dinov2_with_registers", "Dinov2WithRegisters", "dinov2_with_registers.");
  row.keys.registers = "num_register_tokens";
  row.image->register_tokens = "embeddings.register_tokens";
  row.image->resampling = PositionResampling::kBicubicAntialiased;
  return row;
}

constexpr std::array kArchitectures = {
    bert("bert", "Bert", "bert.", "bert.pooler.dense"),
    roberta("roberta", "Roberta", "roberta."),
    // RoBERTa, trained on other texts or in another way.
    roberta("xlm-roberta", "XLMRoberta", "roberta."),
    roberta("camembert", "Camembert", "roberta."),
    roberta("data2vec-text", "Data2VecText", "data2vec_text."),
    // BERT, trained to guess whole phrases.
    bert("ernie", "Ernie", "ernie.", "ernie.pooler.dense"),
    Architecture{
        .model_type = "distilbert",
        .class_name = "DistilBert",
        .prefix = "distilbert.",
        .keys = {.hidden = "dim",
                 .layers = "n_layers",
                 .heads = "n_heads",
                 .intermediate = "hidden_dim",
                 .activation = "activation",
                 .token_types = {},
                 .norm_eps = {}},
        .embeddings = {.token_type = {}},
        .layer = {.prefix = "transformer.layer.{0}.",
                  .query = "attention.q_lin",
                  .key = "attention.k_lin",
                  .value = "attention.v_lin",
                  .attention_output = "attention.out_lin",
                  .attention_norm = "sa_layer_norm",
                  .feed_forward_in = "ffn.lin1",
                  .feed_forward_out = "ffn.lin2",
                  .feed_forward_norm = "output_layer_norm"},
        .masked_lm = {.dense = "vocab_transform",
                      .norm = "vocab_layer_norm",
                      .decoder = "vocab_projector",
                      .bias = "vocab_projector.bias"},
        .classifier = {.dense = "pre_classifier", .activation = Activation::kRelu},
    },
    Architecture{
        .model_type = "albert",
        .class_name = "Albert",
        .prefix = "albert.",
        .keys = {.embedding = "embedding_size", .groups = "num_hidden_groups", .inner = "inner_group_num"},
        .embeddings = {.projection = "encoder.embedding_hidden_mapping_in"},
        .layer = {.prefix = "encoder.albert_layer_groups.{0}.albert_layers.{1}.",
                  .query = "attention.query",
                  .key = "attention.key",
                  .value = "attention.value",
                  .attention_output = "attention.dense",
                  .attention_norm = "attention.LayerNorm",
                  .feed_forward_in = "ffn",
                  .feed_forward_out = "ffn_output",
                  .feed_forward_norm = "full_layer_layer_norm"},
        .masked_lm = {.dense = "predictions.dense",
                      .norm = "predictions.LayerNorm",
                      .decoder = "predictions.decoder",
                      .bias = "predictions.bias"},
        .classifier = {.dense = "albert.pooler"},
        .default_activation = "gelu_new",
    },
    electra(),
    megatron_bert(),
    vit("vit", "ViT", "vit."),
    vit_msn(),
    deit(),
    dinov2("dinov2", "Dinov2", "dinov2."),
    dinov2_with_registers(),
};

constexpr std::array<std::pair<std::string_view, Activation>, 9> kActivations = {{
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"tanh", Activation::kTanh},
}};

void append(std::string& list, std::string_view name) {
  if (!list.empty()) list += ", ";
  list += name;
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view model_type) {
  for (const Architecture& row : kArchitectures) {
    if (row.model_type == model_type) return &row;
  }
  return nullptr;
}

std::string architecture_list() {
  std::string list;
  for (const Architecture& row : kArchitectures) append(list, row.model_type);
  return list;
}

std::optional<Activation> find_activation(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (known == name) return activation;
  }
  return std::nullopt;
}

std::string activation_list() {
  std::string list;
  for (const auto& [known, activation] : kActivations) append(list, known);
  return list;
}

}  // namespace attnflow

#include "attnflow/model/architecture.h"

#include <array>
#include <utility>

#include "attnflow/model/family_rows.h"

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

// Trained to detect replaced words; narrow embeddings.
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

// RoBERTa with a number added to each score for the distance; positions start at 2 whatever the padding token.
constexpr Architecture mpnet() {
  Architecture row = roberta("mpnet", "MPNet", "mpnet.");
  row.keys.token_types = {};
  row.keys.padding_id = {};
  row.keys.buckets = "relative_attention_num_buckets";
  row.embeddings.token_type = {};
  row.layer.query_key_value = "attention.attn.{0}";
  row.layer.attention_output = "attention.attn.o";
  row.layer.attention_norm = "attention.LayerNorm";
  row.distance_bias = "encoder.relative_attention_bias";
  row.padding_id = 1;
  return row;
}

constexpr std::array kDebertaSettings = {
    FixedSetting{"relative_attention", "true", true},
    FixedSetting{"conv_kernel_size", "0"},
    FixedSetting{"pooler_hidden_act", R"("gelu")"},
    FixedSetting{"legacy", "true"},
};

// BERT with embeddings of the distances between tokens.
constexpr Architecture deberta() {
  Architecture row = bert("deberta-v2", "DebertaV2", "deberta.", "pooler.dense");
  row.keys.position_input = "position_biased_input";
  row.layer.query_key_value = "attention.self.{1}_proj";
  row.distances = DistanceNames{.key = "attention.self.pos_key_proj",
                                .query = "attention.self.pos_query_proj",
                                .key_bias = true,
                                .shared = "share_att_key",
                                .norm_setting = "norm_rel_ebd"};
  row.classifier.activation = Activation::kGelu;
  row.default_norm_eps = 1e-7;
  row.default_token_types = 0;
  row.fixed = kDebertaSettings;
  return row;
}

constexpr std::array kFirstDebertaSettings = {
    FixedSetting{"relative_attention", "true", true},
    FixedSetting{"talking_head", "false"},
    FixedSetting{"pooler_hidden_act", R"("gelu")"},
    FixedSetting{"legacy", "true"},
};

// The first DeBERTa: one map for queries, keys and values, and separate maps for distances, never shared with tokens.
constexpr Architecture first_deberta() {
  Architecture row = deberta();
  row.model_type = "deberta";
  row.class_name = "Deberta";
  row.layer.query_key_value = "attention.self.in_proj";
  row.layer.query_bias = "attention.self.q_bias";
  row.layer.value_bias = "attention.self.v_bias";
  row.query_key_value_order = QueryKeyValueOrder::kByHead;
  row.distances =
      DistanceNames{.norm = {}, .buckets = {}, .key = "attention.self.pos_proj", .query = "attention.self.pos_q_proj"};
  row.fixed = kFirstDebertaSettings;
  return row;
}

constexpr std::array kModernBertSettings = {
    FixedSetting{"attention_bias", "false"}, FixedSetting{"mlp_bias", "false"},
    FixedSetting{"norm_bias", "false"},      FixedSetting{"classifier_bias", "false"},
    FixedSetting{"decoder_bias", "true"},    FixedSetting{"classifier_activation", R"("gelu")"},
};

constexpr Architecture modernbert() {
  return {
      .model_type = "modernbert",
      .class_name = "ModernBert",
      .prefix = "model.",
      .keys = {.activation = "hidden_activation",
               .token_types = {},
               .norm_eps = "norm_eps",
               .pooling = "classifier_pooling"},
      .embeddings = {.word = "embeddings.tok_embeddings", .position = {}, .token_type = {}, .norm = "embeddings.norm"},
      .layer = {.prefix = "layers.{0}.",
                .query_key_value = "attn.Wqkv",
                .attention_output = "attn.Wo",
                .attention_norm = "attn_norm",
                .feed_forward_norm = "mlp_norm",
                .gated_in = "mlp.Wi",
                .gated_out = "mlp.Wo"},
      .norm_place = NormPlace::kBefore,
      .first_norm = false,
      .biases = false,
      .gated = true,
      .final_norm = "final_norm",
      .masked_lm = {.dense = "head.dense",
                    .norm = "head.norm",
                    .decoder = "decoder",
                    .bias = "decoder.bias",
                    .activation = Activation::kGelu},
      .classifier = {.dense = "head.dense",
                     .activation = Activation::kGelu,
                     .norm = "head.norm",
                     .answer_output = "classifier",
                     .all_of_tokens = true},
      .default_norm_eps = 1e-5,
      .fixed = kModernBertSettings,
      .rotary = RotaryKeys{.theta = "global_rope_theta",
                           .local_theta = "local_rope_theta",
                           .window = "local_attention",
                           .half_window = "sliding_window",
                           .interval = "global_attn_every_n_layers",
                           .default_theta = 160000.0,
                           .default_local_theta = 10000.0,
                           .default_window = 128,
                           .default_interval = 3},
  };
}

constexpr Architecture vit(std::string_view model_type, std::string_view class_name, std::string_view prefix) {
  return {
      .model_type = model_type,
      .class_name = class_name,
      .prefix = prefix,
      .keys = {.token_types = {}, .query_bias = "qkv_bias", .key_bias = "qkv_bias", .value_bias = "qkv_bias"},
      .layer = {.query_key_value = "attention.attention.{1}",
                .attention_norm = "layernorm_before",
                .feed_forward_norm = "layernorm_after"},
      .norm_place = NormPlace::kBefore,
      .final_norm = "layernorm",
      .classifier = {.dense = {}, .task = "ForImageClassification"},
      .image = ImageNames{},
  };
}

// ViT, trained without labels to represent an image and parts of it alike.
constexpr Architecture vit_msn() {
  Architecture row = vit("vit_msn", "ViTMSN", "vit.");
  row.default_norm_eps = 1e-6;
  return row;
}

// Adds a second class token, which learns from a teacher, and heads on either or both.
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
  row.gated_activation = Activation::kSilu;
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

constexpr std::array kDinov3Settings = {FixedSetting{"proj_bias", "true"}, FixedSetting{"mlp_bias", "true"}};

// Only rotary queries and keys encode the positions of patches. Its files have no prefix.
constexpr Architecture dinov3() {
  Architecture row = dinov2_with_registers();
  row.model_type = "dinov3_vit";
  row.class_name = "DINOv3ViT";
  row.prefix = {};
  row.keys.query_bias = "query_bias";
  row.keys.key_bias = "key_bias";
  row.keys.value_bias = "value_bias";
  row.key_bias = false;
  row.keys.intermediate = "intermediate_size";
  row.keys.mlp_ratio = {};
  row.keys.gated = "use_gated_mlp";
  row.image->patches = "embeddings.patch_embeddings";
  row.image->position = {};
  row.layer.prefix = "layer.{0}.";
  row.layer.query_key_value = "attention.{0}_proj";
  row.layer.attention_output = "attention.o_proj";
  row.layer.feed_forward_in = row.layer.gated_in = "mlp.up_proj";
  row.layer.feed_forward_out = row.layer.gated_out = "mlp.down_proj";
  row.layer.gate = "mlp.gate_proj";
  row.gated_activation = {};
  row.final_norm = "norm";
  row.default_norm_eps = 1e-5;
  row.fixed = kDinov3Settings;
  row.rotary = RotaryKeys{.theta = "rope_theta", .default_theta = 100.0};
  return row;
}

// CLIP's image encoder by itself. The operations after its last layer use only the class token and make no prediction.
constexpr Architecture clip_vision() {
  Architecture row = vit("clip_vision_model", "CLIPVision", "vision_model.");
  row.keys.query_bias = row.keys.key_bias = row.keys.value_bias = {};
  row.image->class_token = "embeddings.class_embedding";
  row.image->patches = "embeddings.patch_embedding";
  row.image->position = "embeddings.position_embedding.weight";
  row.image->batched = false;
  row.image->patch_bias = false;
  row.image->norm = "pre_layrnorm";
  row.layer = {.prefix = "encoder.layers.{0}.",
               .query_key_value = "self_attn.{0}_proj",
               .attention_output = "self_attn.out_proj",
               .attention_norm = "layer_norm1",
               .feed_forward_in = "mlp.fc1",
               .feed_forward_out = "mlp.fc2",
               .feed_forward_norm = "layer_norm2"};
  row.final_norm = {};
  row.classifier.input = ClassifierInput::kPatches;
  row.default_activation = "quick_gelu";
  row.default_norm_eps = 1e-5;
  row.defaults = R"({"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                     "intermediate_size": 3072, "image_size": 224, "patch_size": 32,
                     "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5, "num_channels": 3})";
  return row;
}

constexpr std::array kBeitSettings = {
    FixedSetting{"use_absolute_position_embeddings", "false"},
    FixedSetting{"use_shared_relative_position_bias", "false"},
    FixedSetting{"use_mean_pooling", "true"},
};

// ViT with distances in place of positions, trained to restore hidden patches or another model's output (data2vec).
constexpr Architecture beit(std::string_view model_type, std::string_view class_name, std::string_view prefix,
                            std::string_view pooler_norm) {
  Architecture row = vit(model_type, class_name, prefix);
  row.keys.query_bias = row.keys.key_bias = row.keys.value_bias = {};
  row.key_bias = false;
  row.keys.patch_distances = "use_relative_position_bias";
  row.keys.layer_scale = "layer_scale_init_value";
  row.image->position = {};
  row.layer.patch_distances = "attention.attention.relative_position_bias.relative_position_bias_table";
  row.layer.attention_scale = "lambda_1";
  row.layer.feed_forward_scale = "lambda_2";
  row.final_norm = {};
  row.classifier.norm = pooler_norm;
  row.classifier.input = ClassifierInput::kPatches;
  row.fixed = kBeitSettings;
  return row;
}

// A model that contains another as its image encoder.
constexpr Architecture whole_of(Architecture part, std::string_view model_type, std::string_view class_name) {
  part.part = "vision_config";
  part.part_type = part.model_type;
  part.model_type = model_type;
  part.class_name = class_name;
  return part;
}

// SigLIP's image encoder. It has no class token; the head that pools the patches is not run.
constexpr Architecture siglip_vision() {
  Architecture row = clip_vision();
  row.model_type = "siglip_vision_model";
  row.class_name = "SiglipVision";
  row.image->class_token = {};
  row.image->patch_bias = true;
  row.image->norm = {};
  row.final_norm = "post_layernorm";
  row.default_activation = "gelu_pytorch_tanh";
  row.default_norm_eps = 1e-6;
  row.defaults = R"({"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                     "intermediate_size": 3072, "image_size": 224, "patch_size": 16,
                     "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6, "num_channels": 3})";
  return row;
}

constexpr std::array kDistilbertAliases = {
    KeyAlias{"hidden_size", "dim"},
    KeyAlias{"num_attention_heads", "n_heads"},
    KeyAlias{"num_hidden_layers", "n_layers"},
};

constexpr std::array kArchitectures = {
    bert("bert", "Bert", "bert.", "bert.pooler.dense"),
    roberta("roberta", "Roberta", "roberta."),
    // RoBERTa, trained on other texts or with another method.
    roberta("xlm-roberta", "XLMRoberta", "roberta."),
    roberta("camembert", "Camembert", "roberta."),
    roberta("data2vec-text", "Data2VecText", "data2vec_text."),
    // BERT, trained to predict whole masked phrases.
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
                  .query_key_value = "attention.{0}_lin",
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
        .aliases = kDistilbertAliases,
    },
    Architecture{
        .model_type = "albert",
        .class_name = "Albert",
        .prefix = "albert.",
        .keys = {.embedding = "embedding_size", .groups = "num_hidden_groups", .inner = "inner_group_num"},
        .embeddings = {.projection = "encoder.embedding_hidden_mapping_in"},
        .layer = {.prefix = "encoder.albert_layer_groups.{0}.albert_layers.{1}.",
                  .query_key_value = "attention.{1}",
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
    mpnet(),
    first_deberta(),
    deberta(),
    modernbert(),
    vit("vit", "ViT", "vit."),
    vit_msn(),
    deit(),
    dinov2("dinov2", "Dinov2", "dinov2."),
    dinov2_with_registers(),
    dinov3(),
    beit("beit", "Beit", "beit.", "beit.pooler.layernorm"),
    beit("data2vec-vision", "Data2VecVision", "data2vec_vision.", "data2vec_vision.pooler.layernorm"),
    whole_of(clip_vision(), "clip", "CLIP"),
    clip_vision(),
    whole_of(siglip_vision(), "siglip", "Siglip"),
    siglip_vision(),
};

constexpr std::array<std::pair<std::string_view, Activation>, 12> kActivations = {{
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"tanh", Activation::kTanh},
    {"quick_gelu", Activation::kQuickGelu},
}};

}  // namespace

const Architecture* find_architecture(std::string_view model_type) {
  return internal::find_row(kArchitectures, model_type);
}

std::string architecture_list() { return internal::list_of(kArchitectures, &Architecture::model_type); }

std::optional<Activation> find_activation(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (known == name) return activation;
  }
  return std::nullopt;
}

std::string activation_list() {
  return internal::list_of(kActivations, &std::pair<std::string_view, Activation>::first);
}

}  // namespace attnflow

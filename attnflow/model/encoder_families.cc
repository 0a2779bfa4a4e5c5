#include <array>

#include "attnflow/model/family_rows.h"

namespace attnflow::internal {

namespace {

constexpr Architecture bert(std::string_view model_type, std::string_view class_name, std::string_view prefix,
                            std::string_view pooler) {
  return {
      .model_type = model_type,
      .class_name = class_name,
      .kind = ArchitectureKind::kEncoder,
      .prefix = prefix,
      .keys = {.key_value_heads = {}, .head_width = {}, .token_types = "type_vocab_size", .norm_eps = "layer_norm_eps"},
      .names = {.word = "embeddings.word_embeddings",
                .position = "embeddings.position_embeddings",
                .token_type = "embeddings.token_type_embeddings",
                .embedding_norm = "embeddings.LayerNorm",
                .layer = "encoder.layer.{0}.",
                .attention_norm = "attention.output.LayerNorm",
                .query_key_value = "attention.self.{1}",
                .attention_output = "attention.output.dense",
                .feed_forward_norm = "output.LayerNorm",
                .gate = {},
                .feed_forward_in = "intermediate.dense",
                .feed_forward_out = "output.dense",
                .final_norm = {},
                .output = {}},
      .masked_lm = {.dense = "cls.predictions.transform.dense",
                    .norm = "cls.predictions.transform.LayerNorm",
                    .decoder = "cls.predictions.decoder",
                    .bias = "cls.predictions.bias"},
      .classifier = {.dense = pooler},
      .positions = PositionKind::kLearnt,
      .norm = NormKind::kLayer,
      .norm_place = NormPlace::kAfter,
      .norm_of_sum = true,
      .biases = kAllBiases,
      .norm_eps = 1e-12,
      .activation = "gelu",
      .token_types = 2,
      .tied = true,
  };
}

// Trained to detect replaced words; narrow embeddings.
constexpr Architecture electra() {
  Architecture row = bert("electra", "Electra", "electra.", {});
  row.keys.embedding = "embedding_size";
  row.names.embedding_projection = "embeddings_project";
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
  row.names.embedding_norm = {};
  row.names.attention_norm = "attention.ln";
  row.names.feed_forward_norm = "ln";
  row.names.final_norm = "encoder.ln";
  row.norm_place = NormPlace::kBefore;
  return row;
}

constexpr Architecture roberta(std::string_view model_type, std::string_view class_name, std::string_view prefix) {
  Architecture row = bert(model_type, class_name, prefix, "classifier.dense");
  row.keys.padding_id = "pad_token_id";
  row.masked_lm = {.dense = "lm_head.dense",
                   .norm = "lm_head.layer_norm",
                   .decoder = "lm_head.decoder",
                   .bias = "lm_head.bias",
                   .activation = Activation::kGelu};
  row.classifier.output = "classifier.out_proj";
  return row;
}

// RoBERTa with a number added to each score for the distance; positions start at 2 whatever the padding token.
constexpr Architecture mpnet() {
  Architecture row = roberta("mpnet", "MPNet", "mpnet.");
  row.keys.token_types = {};
  row.keys.padding_id = {};
  row.keys.buckets = "relative_attention_num_buckets";
  row.names.token_type = {};
  row.names.query_key_value = "attention.attn.{0}";
  row.names.attention_output = "attention.attn.o";
  row.names.attention_norm = "attention.LayerNorm";
  row.names.distance = "encoder.relative_attention_bias";
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
  row.names.query_key_value = "attention.self.{1}_proj";
  row.distances = DistanceNames{.key = "attention.self.pos_key_proj",
                                .query = "attention.self.pos_query_proj",
                                .key_bias = true,
                                .shared = "share_att_key",
                                .norm_setting = "norm_rel_ebd"};
  row.classifier.activation = Activation::kGelu;
  row.norm_eps = 1e-7;
  row.token_types = 0;
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
  row.names.query_key_value = "attention.self.in_proj";
  row.names.query_bias = "attention.self.q_bias";
  row.names.value_bias = "attention.self.v_bias";
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
  Architecture row = bert("modernbert", "ModernBert", "model.", "head.dense");
  row.keys.activation = "hidden_activation";
  row.keys.token_types = {};
  row.keys.norm_eps = "norm_eps";
  row.keys.window = "local_attention";
  row.keys.half_window = "sliding_window";
  row.keys.window_interval = "global_attn_every_n_layers";
  row.keys.rotary_theta = "global_rope_theta";
  row.keys.local_rotary_theta = "local_rope_theta";
  row.keys.pooling = "classifier_pooling";
  row.names = {.word = "embeddings.tok_embeddings",
               .embedding_norm = "embeddings.norm",
               .layer = "layers.{0}.",
               .attention_norm = "attn_norm",
               .query_key_value = "attn.Wqkv",
               .attention_output = "attn.Wo",
               .feed_forward_norm = "mlp_norm",
               .gate = {},
               .gate_and_in = "mlp.Wi",
               .feed_forward_out = "mlp.Wo",
               .final_norm = "final_norm",
               .output = {}};
  row.masked_lm = {.dense = "head.dense",
                   .norm = "head.norm",
                   .decoder = "decoder",
                   .bias = "decoder.bias",
                   .activation = Activation::kGelu};
  row.classifier.activation = Activation::kGelu;
  row.classifier.norm = "head.norm";
  row.classifier.answer_output = "classifier";
  row.classifier.all_of_tokens = true;
  row.positions = PositionKind::kRotary;
  row.norm = NormKind::kLayerNoShift;
  row.norm_place = NormPlace::kBefore;
  row.first_norm = false;
  row.biases = {};
  row.window = WindowRule::kAfterFirst;
  row.window_size = 128;
  row.window_interval = 3;
  row.rotary_theta = 160000.0;
  row.norm_eps = 1e-5;
  row.fixed = kModernBertSettings;
  return row;
}

constexpr Architecture vit(std::string_view model_type, std::string_view class_name, std::string_view prefix) {
  Architecture row = bert(model_type, class_name, prefix, {});
  row.keys.positions = {};
  row.keys.token_types = {};
  row.keys.attention_bias = "qkv_bias";
  row.names.attention_norm = "layernorm_before";
  row.names.query_key_value = "attention.attention.{1}";
  row.names.feed_forward_norm = "layernorm_after";
  row.names.final_norm = "layernorm";
  row.classifier.task = "ForImageClassification";
  row.positions = PositionKind::kNone;
  row.norm_place = NormPlace::kBefore;
  row.biases.query_key_value = BiasRule::kSettingOrTrue;
  row.image = ImageNames{};
  return row;
}

// ViT, trained without labels to represent an image and parts of it alike.
constexpr Architecture vit_msn() {
  Architecture row = vit("vit_msn", "ViTMSN", "vit.");
  row.norm_eps = 1e-6;
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
  row.names.attention_norm = "norm1";
  row.names.feed_forward_norm = "norm2";
  row.names.gate_and_in = "mlp.weights_in";
  row.names.feed_forward_out = "mlp.weights_out";
  row.names.ungated_in = "mlp.fc1";
  row.names.ungated_out = "mlp.fc2";
  row.names.attention_scale = "layer_scale1.lambda1";
  row.names.feed_forward_scale = "layer_scale2.lambda1";
  row.gated_activation = Activation::kSilu;
  row.classifier.input = ClassifierInput::kFirstTokenAndPatches;
  row.norm_eps = 1e-6;
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
  row.biases.key = BiasRule::kSetting;
  row.keys.intermediate = "intermediate_size";
  row.keys.mlp_ratio = {};
  row.keys.gated = "use_gated_mlp";
  row.image->patches = "embeddings.patch_embeddings";
  row.image->position = {};
  row.names.layer = "layer.{0}.";
  row.names.query_key_value = "attention.{0}_proj";
  row.names.attention_output = "attention.o_proj";
  row.names.gate = "mlp.gate_proj";
  row.names.feed_forward_in = "mlp.up_proj";
  row.names.feed_forward_out = "mlp.down_proj";
  row.names.gate_and_in = row.names.ungated_in = row.names.ungated_out = {};
  row.gated_activation = {};
  row.names.final_norm = "norm";
  row.norm_eps = 1e-5;
  row.fixed = kDinov3Settings;
  row.positions = PositionKind::kRotary;
  row.rotary_theta = 100.0;
  return row;
}

// CLIP's image encoder by itself. The operations after its last layer use only the class token and make no prediction.
constexpr Architecture clip_vision() {
  Architecture row = vit("clip_vision_model", "CLIPVision", "vision_model.");
  row.biases = kAllBiases;
  row.image->class_token = "embeddings.class_embedding";
  row.image->patches = "embeddings.patch_embedding";
  row.image->position = "embeddings.position_embedding.weight";
  row.image->batched = false;
  row.image->patch_bias = false;
  row.image->norm = "pre_layrnorm";
  row.names.layer = "encoder.layers.{0}.";
  row.names.query_key_value = "self_attn.{0}_proj";
  row.names.attention_output = "self_attn.out_proj";
  row.names.attention_norm = "layer_norm1";
  row.names.feed_forward_in = "mlp.fc1";
  row.names.feed_forward_out = "mlp.fc2";
  row.names.feed_forward_norm = "layer_norm2";
  row.names.final_norm = {};
  row.classifier.input = ClassifierInput::kPatches;
  row.activation = "quick_gelu";
  row.norm_eps = 1e-5;
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
  row.biases = kAllBiases;
  row.biases.key = BiasRule::kNever;
  row.keys.patch_distances = "use_relative_position_bias";
  row.keys.layer_scale = "layer_scale_init_value";
  row.image->position = {};
  row.names.patch_distances = "attention.attention.relative_position_bias.relative_position_bias_table";
  row.names.attention_scale = "lambda_1";
  row.names.feed_forward_scale = "lambda_2";
  row.names.final_norm = {};
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
  row.names.final_norm = "post_layernorm";
  row.activation = "gelu_pytorch_tanh";
  row.norm_eps = 1e-6;
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

constexpr Architecture distilbert() {
  Architecture row = bert("distilbert", "DistilBert", "distilbert.", "pre_classifier");
  row.keys.hidden = "dim";
  row.keys.layers = "n_layers";
  row.keys.heads = "n_heads";
  row.keys.intermediate = "hidden_dim";
  row.keys.activation = "activation";
  row.keys.token_types = row.keys.norm_eps = {};
  row.names.token_type = {};
  row.names.layer = "transformer.layer.{0}.";
  row.names.query_key_value = "attention.{0}_lin";
  row.names.attention_output = "attention.out_lin";
  row.names.attention_norm = "sa_layer_norm";
  row.names.feed_forward_in = "ffn.lin1";
  row.names.feed_forward_out = "ffn.lin2";
  row.names.feed_forward_norm = "output_layer_norm";
  row.masked_lm = {.dense = "vocab_transform",
                   .norm = "vocab_layer_norm",
                   .decoder = "vocab_projector",
                   .bias = "vocab_projector.bias"};
  row.classifier.activation = Activation::kRelu;
  row.aliases = kDistilbertAliases;
  return row;
}

constexpr Architecture albert() {
  Architecture row = bert("albert", "Albert", "albert.", "albert.pooler");
  row.keys.embedding = "embedding_size";
  row.keys.groups = "num_hidden_groups";
  row.keys.inner = "inner_group_num";
  row.names.embedding_projection = "encoder.embedding_hidden_mapping_in";
  row.names.layer = "encoder.albert_layer_groups.{0}.albert_layers.{1}.";
  row.names.query_key_value = "attention.{1}";
  row.names.attention_output = "attention.dense";
  row.names.attention_norm = "attention.LayerNorm";
  row.names.feed_forward_in = "ffn";
  row.names.feed_forward_out = "ffn_output";
  row.names.feed_forward_norm = "full_layer_layer_norm";
  row.masked_lm = {.dense = "predictions.dense",
                   .norm = "predictions.LayerNorm",
                   .decoder = "predictions.decoder",
                   .bias = "predictions.bias"};
  row.activation = "gelu_new";
  return row;
}

constexpr std::array kEncoders = {
    bert("bert", "Bert", "bert.", "bert.pooler.dense"),
    roberta("roberta", "Roberta", "roberta."),
    // RoBERTa, trained on other texts or with another method.
    roberta("xlm-roberta", "XLMRoberta", "roberta."),
    roberta("camembert", "Camembert", "roberta."),
    roberta("data2vec-text", "Data2VecText", "data2vec_text."),
    // BERT, trained to predict whole masked phrases.
    bert("ernie", "Ernie", "ernie.", "ernie.pooler.dense"),
    distilbert(),
    albert(),
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

}  // namespace

std::span<const Architecture> encoder_families() { return kEncoders; }

}  // namespace attnflow::internal

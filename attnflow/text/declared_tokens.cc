#include "attnflow/text/declared_tokens.h"

#include <array>
#include <utility>
#include <vector>

#include "attnflow/text/tokenizer_document.h"

namespace attnflow::internal {
namespace {

using nlohmann::json;

constexpr std::string_view kClsAndSep = "cls_token sep_token";

// As in transformers 5.
constexpr std::array kClasses = {
    TokenizerClass{"BertTokenizer ConvBertTokenizer DistilBertTokenizer ElectraTokenizer LayoutLMv2Tokenizer "
                   "LxmertTokenizer MobileBertTokenizer RoFormerTokenizer SplinterTokenizer SqueezeBertTokenizer",
                   "bert distilbert electra ernie megatron-bert", kBertSpecials, kClsAndSep},
    TokenizerClass{"RobertaTokenizer BartTokenizer LayoutLMv3Tokenizer LEDTokenizer LongformerTokenizer LukeTokenizer "
                   "MarkupLMTokenizer MvpTokenizer",
                   "bart data2vec-text roberta", kRobertaSpecials, kClsAndSep},
    TokenizerClass{"CamembertTokenizer XLMRobertaTokenizer", "camembert xlm-roberta", kRobertaSpecials,
                   "bos_token eos_token"},
    TokenizerClass{"MBartTokenizer NllbTokenizer", "mbart", kRobertaSpecials, "eos_token"},
    TokenizerClass{"BarthezTokenizer BlenderbotTokenizer", "", kRobertaSpecials, ""},
    TokenizerClass{"AlbertTokenizer FNetTokenizer RemBertTokenizer", "albert", kAlbertSpecials, kClsAndSep},
    TokenizerClass{"DebertaTokenizer DebertaV2Tokenizer", "deberta deberta-v2", kDebertaSpecials, kClsAndSep},
    TokenizerClass{"MPNetTokenizer", "mpnet",
                   "bos_token <s> eos_token </s> unk_token [UNK] sep_token </s> pad_token <pad> cls_token <s> "
                   "mask_token <mask>",
                   kClsAndSep},
    TokenizerClass{"GPT2Tokenizer CodeGenTokenizer", "gpt2 gpt_neo gptj opt phi starcoder2", kGpt2Specials, ""},
    TokenizerClass{"GPTNeoXTokenizer", "gpt_neox mamba",
                   "bos_token <|endoftext|> eos_token <|endoftext|> unk_token <|endoftext|> pad_token <|padding|>", ""},
    TokenizerClass{"Qwen2Tokenizer", "qwen2 qwen3",
                   "eos_token <|endoftext|> unk_token <|endoftext|> pad_token <|endoftext|>", ""},
    TokenizerClass{"LlamaTokenizer CodeLlamaTokenizer", "", kLlamaSpecials, ""},
    TokenizerClass{"GemmaTokenizer", "gemma gemma2 gemma3_text",
                   "bos_token <bos> eos_token <eos> unk_token <unk> pad_token <pad> mask_token <mask>", ""},
    TokenizerClass{"CohereTokenizer", "cohere cohere2",
                   "bos_token <BOS_TOKEN> eos_token <|END_OF_TURN_TOKEN|> unk_token <UNK> sep_token <SEP> pad_token "
                   "<PAD> cls_token <CLS> mask_token <MASK_TOKEN>",
                   ""},
    TokenizerClass{"T5Tokenizer MT5Tokenizer", "mt5 t5", kT5Specials, "eos_token"},
    TokenizerClass{"PegasusTokenizer", "pegasus", kPegasusSpecials, "eos_token"},
    TokenizerClass{"MBart50Tokenizer", "", kMbart50Specials, "eos_token"},
    TokenizerClass{"XLNetTokenizer FunnelTokenizer", "xlnet", kXlnetSpecials, kClsAndSep},
    TokenizerClass{"BigBirdTokenizer", "",
                   "bos_token <s> eos_token </s> unk_token <unk> sep_token [SEP] pad_token <pad> cls_token [CLS] "
                   "mask_token [MASK]",
                   kClsAndSep},
    TokenizerClass{"CLIPTokenizer", "clip",
                   "bos_token <|startoftext|> eos_token <|endoftext|> unk_token <|endoftext|> pad_token <|endoftext|>",
                   "bos_token eos_token"},
};
constexpr std::string_view kGeneralTypes = "granite mistral modernbert olmo2 phi3 stablelm";

}  // namespace

const TokenizerClass* tokenizer_class_of(const Folder& folder, const TokenizerSettings& settings,
                                         const std::string& model_type) {
  if (lists_word(kGeneralTypes, model_type)) return nullptr;
  std::string name = settings.tokenizer_class();
  if (name.empty()) name = tokenizer_class_in(read_optional_json_object({folder, "config.json"}));
  if (model_type == "qwen2") name = "Qwen2Tokenizer";  // whatever the folder names
  for (const TokenizerClass& one : kClasses) {
    if (name.empty() ? lists_word(one.model_types, model_type) : lists_word(one.names, name)) return &one;
  }
  return nullptr;
}

json declared_tokens(const TokenizerSettings& settings, const std::map<std::string, json>& defaults,
                     const TokenizerClass* made_by) {
  // Other classes either have a padding token or state that they have none.
  const bool takes_padding = made_by == nullptr || made_by->names.starts_with("LlamaTokenizer");
  json added = json::array();
  for (auto& [id, token] : settings.added_tokens()) {
    added.push_back(token);
    added.back()["id"] = id;
  }
  json named = json::array();
  json padding_at;
  for (const std::string& role : special_roles()) {
    if (settings.names(role)) {
      if (std::optional<json> token = settings.special(role)) named.push_back(std::move(*token));
    } else if (const auto found = defaults.find(role); found != defaults.end()) {
      named.push_back(found->second);
      named.back()["usual"] = true;
    } else if (role == "pad_token" && takes_padding) {
      padding_at = named.size();
    }
  }
  for (json& token : settings.other_named()) named.push_back(std::move(token));
  return {{"added", std::move(added)},
          {"named", std::move(named)},
          {"padding_at", std::move(padding_at)},
          {"extra", settings.more_specials()},
          {"complete", settings.lists_added_tokens()},
          {"rebuilt", made_by != nullptr},
          {"split_special_tokens", settings.flag("split_special_tokens").value_or(false)}};
}

}  // namespace attnflow::internal

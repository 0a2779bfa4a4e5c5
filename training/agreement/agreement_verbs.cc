#include <initializer_list>
#include <string_view>

#include "training/agreement/agreement_data.h"
#include "training/agreement/word_lists.h"

namespace attnflow {
namespace {

// Plural present-tense forms. Neither form is used as a noun or an adjective, and the plural form is neither a past
// form nor, except for the first three, a participle.
constexpr std::string_view kLexicalVerbs =
    "become come overcome "
    "accept achieve acquire add admit adopt affirm agree allow analyze announce anticipate appear apply "
    "argue arise arrive assert assume attach attend attract avoid begin behave believe belong bind bring "
    "carry cease characterize choose clarify collect combine communicate compare compel compensate "
    "compete comprise conceive conclude confer confirm connect consider consist constitute consume "
    "contain continue contribute convey cooperate correspond create decide declare defend define deliver "
    "demonstrate deny depend depict derive describe deserve destroy detect determine develop devote "
    "differ disappear discourage discover discuss dominate eat eliminate emerge emphasize employ enable "
    "encourage engage enhance enjoy ensure entail enter establish evaluate evoke evolve examine exceed "
    "exclude exist expand expect explain explore extend facilitate fail follow fulfill gather generate "
    "get give go grow happen hear identify illustrate imply impose improve include incorporate indicate "
    "inform inhibit integrate intend interact interpret introduce invest involve justify keep know learn "
    "lose maintain make manage negotiate obtain occupy occur operate oppose organize originate owe "
    "participate perceive perform persist possess predict prefer presume prevent proceed promote protect "
    "prove provide publish pursue qualify react realize receive recognize recommend reduce refer reflect "
    "regulate relate rely remember remove replace represent require resemble resist respond restrict "
    "retain reveal satisfy seek seem sell send serve settle signify simplify solve speak specify spend "
    "stimulate strengthen strive succeed suffer suggest suppose surround survive sustain symbolize take "
    "teach tell tend think transmit undergo undermine understand unite utilize vary warn write";

bool ends_with_any(std::string_view word, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (word.ends_with(ending)) return true;
  }
  return false;
}

std::string singular_form(std::string_view verb) {
  std::string form(verb);
  if (ends_with_any(verb, {"s", "x", "z", "ch", "sh", "o"})) return form + "es";
  if (verb.ends_with("y") && !ends_with_any(verb, {"ay", "ey", "oy", "uy"})) {
    form.pop_back();
    return form + "ies";
  }
  return form + "s";
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& agreement_verbs() {
  static const std::vector<std::pair<std::string, std::string>> kVerbs = [] {
    std::vector<std::pair<std::string, std::string>> verbs = {
        {"is", "are"}, {"was", "were"}, {"has", "have"}, {"does", "do"}};
    for (const std::string_view verb : internal::listed_words(kLexicalVerbs)) {
      verbs.emplace_back(singular_form(verb), verb);
    }
    return verbs;
  }();
  return kVerbs;
}

}  // namespace attnflow

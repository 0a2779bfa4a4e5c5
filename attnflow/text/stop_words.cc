#include "attnflow/text/stop_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace {

struct WordList {
  std::string_view language;
  // By word class: articles and determiners, pronouns, prepositions, conjunctions, verbs, particles, contractions.
  std::array<std::string_view, 7> words;
};

constexpr std::array<WordList, 7> kLists = {{
    {"de",
     {"der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner dieser diese dieses "
      "diesen diesem jeder jede jedes jeden jedem alle allen aller alles welche welcher welches",
      "ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen sich man mein meine meinen meinem meiner dein "
      "deine sein seine seinen seinem seiner ihre ihren ihrem ihrer unser unsere euer eure wer wen wem was etwas "
      "nichts",
      "in im ins an am ans auf aus bei beim bis durch für gegen mit nach ohne seit über um unter von vom vor zu zum "
      "zur "
      "zwischen",
      "und oder aber denn sondern dass weil wenn als ob obwohl während damit",
      "bin bist ist sind seid war waren wäre gewesen habe hast hat haben hatte hatten hätte werde wird werden wurde "
      "wurden worden würde kann können konnte muss müssen soll sollte will wollte darf",
      "nicht auch nur noch schon so sehr doch ja nein da dort hier wie wo wann warum dann mehr", "daß"}},
    {"en",
     {"the a an this that these those each every either neither some any all both such no other another own same",
      "i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our "
      "ours "
      "ourselves they them their theirs themselves who whom whose which what",
      "of in on at by for with from to into onto about above below under over between among through during before "
      "after "
      "against without within until up down out off",
      "and or but nor so yet if because as than while though although whether since unless",
      "am is are was were be been being have has had having do does did doing done can could may might must shall "
      "should "
      "will would",
      "not there here when where why how then just only too very also again ever now",
      "s t d ll m re ve don doesn didn isn aren wasn weren hasn haven hadn couldn shouldn wouldn mustn"}},
    {"es",
     {"el la los las un una unos unas este esta estos estas ese esa esos esas aquel aquella aquellos aquellas cada "
      "todo "
      "toda todos todas otro otra otros otras algún alguna algunos algunas ningún ninguna mismo misma tal",
      "yo tú él ella ello nosotros nosotras vosotros ellos ellas usted ustedes me te se nos os le les lo mí ti sí mi "
      "mis "
      "tu tus su sus nuestro nuestra nuestros nuestras esto eso aquello quien quienes cual cuales cuyo cuya algo nada "
      "alguien nadie",
      "a al de del en con por para sin sobre entre hasta desde hacia contra según durante ante tras bajo",
      "y e o u ni que pero sino si porque pues aunque mientras como cuando donde",
      "soy eres es somos son era eran fue fueron ser sido siendo estoy está están estaba estaban estar he has ha hemos "
      "han había habían haber hay",
      "no sí ya muy más menos también tampoco sólo solo así qué cómo cuándo dónde", "conmigo contigo consigo"}},
    {"fr",
     {"le la les un une des du ce cet cette ces chaque tout toute tous toutes quelque quelques aucun aucune autre "
      "autres "
      "même mêmes tel telle quel quelle quels quelles",
      "je tu il elle on nous vous ils elles me te se moi toi lui leur leurs eux soi mon ma mes ton ta tes son sa ses "
      "notre nos votre vos celui celle ceux celles ceci cela ça qui que quoi dont lequel laquelle rien",
      "à au aux de en dans par pour sur sous avec sans chez entre vers contre depuis pendant avant après jusque dès",
      "et ou mais donc or ni car si comme quand lorsque parce puisque quoique",
      "suis es est sommes êtes sont étais était étaient été être sera seront serait ai as a avons avez ont avais avait "
      "avaient avoir eu aura aurait soit",
      "ne pas plus moins très trop aussi y où non oui bien encore déjà ici là alors comment pourquoi",
      "l d j m n s t c qu jusqu lorsqu puisqu quelqu"}},
    {"it",
     {"il lo la i gli le un uno una questo questa questi queste quello quella quelli quelle quel quei ogni tutto tutta "
      "tutti tutte altro altra altri altre alcuni alcune nessuno nessuna stesso stessa tale",
      "io tu lui lei noi voi loro esso essa essi me te mi ti si ci vi ne sé mio mia miei mie tuo tua suo sua suoi sue "
      "nostro nostra nostri vostro vostra ciò chi che cui quale quali qualcosa niente nulla",
      "di a da in con su per tra fra del dello della dei degli delle al allo alla ai agli alle dal dallo dalla dai "
      "dalle "
      "nel nello nella nei nelle sul sullo sulla sui sulle senza contro verso fino sotto sopra",
      "e ed o od ma né se perché poiché quando mentre come dove anche però quindi",
      "sono sei è siamo siete era erano essere stato stata stati ho hai ha abbiamo avete hanno aveva avevano avere sia",
      "non più meno molto già ancora così qui là solo sì", "l d c un dell all dall nell sull quest quell c'è"}},
    {"nl",
     {"de het een deze dit die dat elke elk ieder iedere alle al geen sommige andere ander zulke welke welk beide",
      "ik jij je hij zij ze wij we jullie u mij me jou hem haar ons hen hun zich mijn jouw zijn onze uw wie wat iets "
      "niets iemand niemand men",
      "van in op aan bij met voor door over onder tussen naar uit tot om zonder tegen na sinds tijdens per te ten ter "
      "binnen buiten af",
      "en of maar want dus dan als omdat hoewel terwijl toen zodat tenzij indien noch",
      "ben bent is was waren geweest heb hebt heeft hebben had hadden word wordt worden werd werden geworden kan "
      "kunnen kon konden moet moeten moest mag mogen zal zullen zou zouden wil",
      "niet ook nog al wel er hier daar waar hoe wanneer waarom nu zo toch zeer heel meer alleen", "t s n"}},
    {"pt",
     {"o a os as um uma uns umas este esta estes estas esse essa esses essas aquele aquela aqueles aquelas cada todo "
      "toda "
      "todos todas outro outra outros outras algum alguma alguns algumas nenhum nenhuma mesmo mesma tal",
      "eu tu ele ela nós vós eles elas você vocês me te se nos vos lhe lhes mim ti si meu minha meus minhas teu tua "
      "seu "
      "sua seus suas nosso nossa nossos nossas isto isso aquilo quem que qual quais cujo algo nada alguém ninguém",
      "de do da dos das em no na nos nas por pelo pela pelos pelas para com sem sobre entre até desde contra durante "
      "ao "
      "à aos às num numa neste nesta nesse nessa sob",
      "e ou mas nem porque pois se embora enquanto como quando onde portanto",
      "sou és é somos são era eram foi foram ser sido sendo estou está estão estava estavam estar tenho tem temos têm "
      "tinha tinham ter há havia",
      "não sim já muito mais menos também só assim ainda", "comigo contigo consigo"}},
}};

}  // namespace

std::vector<std::string_view> stop_word_languages() {
  std::vector<std::string_view> languages;
  for (const WordList& list : kLists) languages.push_back(list.language);
  return languages;
}

std::vector<std::string_view> stop_words(std::string_view language) {
  const auto* const list =
      std::find_if(kLists.begin(), kLists.end(), [&](const WordList& each) { return each.language == language; });
  if (list == kLists.end()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a language that has a list of stop words, found {}; give one of {}",
                            internal::quote_name(language), fmt::join(stop_word_languages(), ", ")));
  }
  std::vector<std::string_view> words;
  for (const std::string_view group : list->words) {
    for (std::size_t begin = 0; begin < group.size();) {
      const std::size_t end = std::min(group.find(' ', begin), group.size());
      words.push_back(group.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  // Some words are in two classes.
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace attnflow

// Parses an SVG with expat; anything that is not well-formed XML is an error.
#pragma once

#include <expat.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace attnflow::internal {

struct SvgElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<std::string> groups;  // ids of the enclosing groups
  std::string title;
};

struct SvgDocument {
  std::string error;  // "" when well-formed
  std::vector<SvgElement> elements;
  std::vector<std::string> ids;
  std::vector<std::string> titles;
  std::vector<std::string> texts;  // of each text element, without its title

  std::string attribute(const std::string& name, const std::string& key) const {
    for (const SvgElement& element : elements) {
      if (element.name != name) continue;
      const auto found = element.attributes.find(key);
      return found == element.attributes.end() ? "" : found->second;
    }
    return "";
  }
};

inline SvgDocument read_svg(const std::string& bytes) {
  struct State {
    SvgDocument document;
    std::vector<std::size_t> open;
    std::vector<std::string> groups;
    bool in_title = false;
  } state;
  const auto start = [](void* user, const XML_Char* name, const XML_Char** attributes) {
    auto& s = *static_cast<State*>(user);
    SvgElement element{.name = name, .attributes = {}, .groups = s.groups, .title = {}};
    for (; *attributes != nullptr; attributes += 2) element.attributes[attributes[0]] = attributes[1];
    if (element.attributes.count("id") != 0) s.document.ids.push_back(element.attributes["id"]);
    if (element.name == "g") s.groups.push_back(element.attributes["id"]);
    if (element.name == "title") {
      s.in_title = true;
      s.document.titles.emplace_back();
    }
    if (element.name == "text") s.document.texts.emplace_back();
    s.open.push_back(s.document.elements.size());
    s.document.elements.push_back(std::move(element));
  };
  const auto end = [](void* user, const XML_Char* name) {
    auto& s = *static_cast<State*>(user);
    s.open.pop_back();
    if (std::string(name) == "g") s.groups.pop_back();
    if (std::string(name) == "title") s.in_title = false;
  };
  const auto characters = [](void* user, const XML_Char* data, int length) {
    auto& s = *static_cast<State*>(user);
    const std::string piece(data, static_cast<std::size_t>(length));
    if (s.in_title) {
      s.document.titles.back() += piece;
      if (s.open.size() >= 2) s.document.elements[s.open[s.open.size() - 2]].title += piece;
      return;
    }
    for (std::size_t open : s.open) {
      if (s.document.elements[open].name == "text") {
        s.document.texts.back() += piece;
        break;
      }
    }
  };
  XML_Parser parser = XML_ParserCreate("UTF-8");
  XML_SetUserData(parser, &state);
  XML_SetElementHandler(parser, start, end);
  XML_SetCharacterDataHandler(parser, characters);
  if (XML_Parse(parser, bytes.data(), static_cast<int>(bytes.size()), 1) == XML_STATUS_ERROR) {
    state.document.error = std::string(XML_ErrorString(XML_GetErrorCode(parser))) + " in line " +
                           std::to_string(XML_GetCurrentLineNumber(parser));
  }
  XML_ParserFree(parser);
  return state.document;
}

inline bool has_text(const SvgDocument& svg, const std::string& text) {
  return std::find(svg.texts.begin(), svg.texts.end(), text) != svg.texts.end();
}

// Joins sentences, whose lines are separate text elements.
inline std::string all_text(const SvgDocument& svg) {
  std::string all;
  for (const std::string& text : svg.texts) all += text + ' ';
  return all;
}

inline bool has_text_with(const SvgDocument& svg, const std::string& part) {
  return all_text(svg).find(part) != std::string::npos;
}

inline std::vector<SvgElement> in_group(const SvgDocument& svg, const std::string& name, const std::string& group) {
  std::vector<SvgElement> found;
  for (const SvgElement& element : svg.elements) {
    if (element.name == name && std::any_of(element.groups.begin(), element.groups.end(),
                                            [&](const std::string& id) { return id.starts_with(group); })) {
      found.push_back(element);
    }
  }
  return found;
}

inline double number(const SvgElement& element, const std::string& key) {
  return std::stod(element.attributes.at(key));
}

struct ArcShares {
  double left = 0.0;
  std::map<std::string, double> arrived;
};

inline ArcShares rollout_shares(const SvgDocument& svg) {
  ArcShares shares;
  for (const SvgElement& arc : in_group(svg, "line", "attnflow-graph-rollout-arcs")) {
    const std::string& title = arc.title;  // "layer 1: a from b, 0.123"
    const double share = std::stod(title.substr(title.rfind(' ') + 1));
    const std::size_t from = title.find(" from ") + 6;
    if (title.starts_with("layer 3:")) shares.left += share;
    if (title.starts_with("layer 1:")) shares.arrived[title.substr(from, title.rfind(", ") - from)] += share;
  }
  return shares;
}

}  // namespace attnflow::internal

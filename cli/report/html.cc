#include "html.h"

#include "compact.h"

namespace smdebug::cli::report {

std::string Html(std::string_view text) {
  std::string out;
  for (const char character : Brief(text)) {
    switch (character) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += character;
    }
  }
  return out;
}

std::string Fact(std::string_view name, const std::string &html) {
  if (html.empty()) return "";
  return "<div><dt>" + std::string(name) + "</dt><dd>" + html + "</dd></div>";
}

std::string JsonInHtml(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  // In JSON, '<' occurs only in texts.
  for (const char character : json) character == '<' ? out += "\\u003c" : out += character;
  return out;
}

std::string FillIn(std::string_view page, const std::map<std::string, std::string> &texts) {
  std::string out;
  while (true) {
    const size_t begin = page.find("{{");
    out += page.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const size_t end = page.find("}}", begin);
    out += texts.at(std::string(page.substr(begin + 2, end - begin - 2)));
    page.remove_prefix(end + 2);
  }
}

}  // namespace smdebug::cli::report

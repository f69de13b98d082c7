#include "html.h"

#include <ctime>

#include "compact.h"
#include "smdebug.hpp"

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

std::string SectionHtml(std::string_view id, std::string_view title, const std::string &html) {
  const std::string name(id);
  return "<section id=\"" + name + "\" aria-labelledby=\"" + name + "-title\">\n<h2 id=\"" + name +
         "-title\">" + std::string(title) + "</h2>\n" + html + "</section>\n";
}

std::string LinkHtml(std::string_view id, std::string_view title) {
  return "<a href=\"#" + std::string(id) + "\">" + std::string(title) + "</a>\n";
}

std::string BoxHtml(const char *kind, const char *sign, const std::string &heading,
                    const std::string &sentence, const std::string &counts) {
  return std::string("<div class=\"headline ") + kind +
         "\"><span class=\"sign\" aria-hidden=\"true\">" + sign +
         "</span><div><p class=\"culprit\">" + heading + "</p>" +
         (sentence.empty() ? "" : "<p>" + sentence + "</p>") + "<p class=\"counts\">" + counts +
         "</p></div></div>\n";
}

std::string FootText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc));
  return "smdebug " + Version() + ", " + text;
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

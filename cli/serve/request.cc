#include "serve/request.h"

#include <charconv>
#include <cmath>

namespace smdebug::cli::serve {

std::string Request::Text(const std::string &name) const {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

std::vector<std::string> Request::Texts(const std::string &name) const {
  std::vector<std::string> texts;
  const auto [begin, end] = query.equal_range(name);
  for (auto each = begin; each != end; ++each) texts.push_back(each->second);
  return texts;
}

int64_t Request::Whole(const std::string &name, int64_t otherwise, int64_t least,
                       int64_t most) const {
  const auto found = query.find(name);
  if (found == query.end()) return otherwise;
  int64_t number = 0;
  if (!ParseWhole(found->second, &number) || number < least || number > most) {
    throw BadRequest(400, name + " must be a whole number from " + std::to_string(least) + " to " +
                              std::to_string(most));
  }
  return number;
}

double Request::Number(const std::string &name, double otherwise, double least, double most) const {
  const auto found = query.find(name);
  if (found == query.end()) return otherwise;
  const std::string &text = found->second;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !(number >= least && number <= most)) {
    throw BadRequest(400, name + " must be a number from " + std::to_string(least) + " to " +
                              std::to_string(most));
  }
  return number;
}

Response JsonResponse(std::string json) { return {200, "application/json", std::move(json)}; }

Response TextResponse(int status, const std::string &sentence) {
  return {status, "text/plain; charset=utf-8", sentence + "\n"};
}

bool AcceptsGzip(std::string_view header) {
  while (!header.empty()) {
    const size_t comma = header.find(',');
    std::string_view part = header.substr(0, comma);
    header = comma == std::string_view::npos ? "" : header.substr(comma + 1);
    const size_t begin = part.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    part = part.substr(begin);
    const std::string_view name = part.substr(0, part.find_first_of("; \t"));
    if (name != "gzip" && name != "*") continue;
    // "q=0", "q=0.0": not acceptable.
    const size_t weight = part.find("q=");
    return weight == std::string_view::npos ||
           part.find_first_of("123456789", weight) != std::string_view::npos;
  }
  return false;
}

bool ParseWhole(std::string_view text, int64_t *out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace smdebug::cli::serve

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

bool ParseWhole(std::string_view text, int64_t *out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace smdebug::cli::serve

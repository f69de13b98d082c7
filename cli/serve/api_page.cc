#include <algorithm>

#include "serve/api.h"
#include "serve/page.h"

namespace smdebug::cli::serve {
namespace {

constexpr std::string_view kPlace = "<script type=\"application/json\" id=\"first\">[";
// As runQuery() of curves.js asks.
constexpr const char *kPixels = "900";
constexpr const char *kWorkersOfOne = "4";
constexpr const char *kWorkersOfSeveral = "1";
constexpr size_t kMostRuns = 16;

std::vector<std::string> SplitIds(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty() && ids.size() <= kMostRuns) {
    const size_t end = std::min(text.find_first_of(",/"), text.size());
    ids.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ids;
}

// Returns false if a run has to be opened first, or asked for over a network: the page shows its
// head meanwhile.
bool AreReady(const ApiContext &context, const std::vector<std::string> &ids) {
  return ids.size() <= kMostRuns && std::all_of(ids.begin(), ids.end(), [&](const auto &id) {
           return context.runs.IsOpen(id) && !context.runs.Open(id)->IsRemote();
         });
}

std::string AnswersOf(const ApiContext &context, const std::vector<std::string> &ids) {
  std::string answers;
  for (const std::string &id : ids) {
    Request one;
    one.query = {{"id", id},
                 {"pixels", kPixels},
                 {"workers", ids.size() == 1 ? kWorkersOfOne : kWorkersOfSeveral}};
    answers += (answers.empty() ? "" : ",") + AnswerRun(context, one).body;
  }
  return answers;
}

// Writes JSON so that it cannot end the element that it is in.
std::string ForHtml(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char byte : json) byte == '<' ? out += "\\u003c" : out += byte;
  return out;
}

}  // namespace

Response AnswerPage(const ApiContext &context, const Request &request) {
  Response response{200, std::string(Page().type), std::string(Page().bytes)};
  const std::vector<std::string> ids =
      SplitIds(std::string_view(request.path).substr(kRunsPath.size()));
  if (!AreReady(context, ids)) return response;
  const size_t place = response.body.find(kPlace) + kPlace.size();
  try {
    response.body.insert(place, ForHtml(AnswersOf(context, ids)));
  } catch (const std::exception &) {
    // The page asks itself, and tells what is wrong.
  }
  return response;
}

}  // namespace smdebug::cli::serve

#include "suggestions.h"

#include <algorithm>
#include <numeric>

#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kMost = 3;
constexpr size_t kLongest = 200;     // of names that are compared: a hostile one may be huge
constexpr size_t kShort = 4;         // in a shorter text, two edits leave nothing in common
constexpr size_t kShortestPart = 3;  // of a name that contains the text

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char &letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

// Returns the number of edits (insert, remove, replace, swap neighbours) between two texts.
size_t Edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last;
  std::vector<size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1, i);
    for (size_t k = 1; k <= b.size(); ++k) {
      const size_t replaced = last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1);
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, replaced});
      const bool are_swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
      if (are_swapped) row[k] = std::min(row[k], before_last[k - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

struct Candidate {
  size_t edits = 0;
  const std::string *name = nullptr;
};

}  // namespace

std::vector<std::string> Similar(std::string_view text, const std::vector<std::string> &names) {
  if (text.empty() || text.size() > kLongest) return {};
  const std::string wanted = Lower(text);
  const size_t tolerated = wanted.size() < kShort ? 1 : std::max<size_t>(2, wanted.size() / 3);
  std::vector<Candidate> found;
  for (const std::string &name : names) {
    if (name.size() > kLongest) continue;
    const std::string lower = Lower(name);
    const bool contains = wanted.size() >= kShortestPart && lower.find(wanted) != std::string::npos;
    const size_t gap =
        lower.size() > wanted.size() ? lower.size() - wanted.size() : wanted.size() - lower.size();
    if (!contains && gap > tolerated) continue;
    const size_t edits = contains ? std::min(gap, tolerated) : Edits(wanted, lower);
    if (edits <= tolerated) found.push_back({edits, &name});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate &a, const Candidate &b) { return a.edits < b.edits; });
  if (found.size() > kMost) found.resize(kMost);
  std::vector<std::string> similar;
  similar.reserve(found.size());
  for (const Candidate &candidate : found) similar.push_back(*candidate.name);
  return similar;
}

std::string DidYouMean(std::string_view text, const std::vector<std::string> &names) {
  const std::vector<std::string> similar = Similar(text, names);
  std::string list;
  for (size_t i = 0; i < similar.size(); ++i) {
    if (i > 0) list += i + 1 == similar.size() ? " or " : ", ";
    list += "'" + Printable(similar[i]) + "'";
  }
  return list.empty() ? "" : "; did you mean " + list + "?";
}

}  // namespace smdebug::cli

// Finds trees that are too deep or do not grow.
#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kIds = "trees/ID";
constexpr std::string_view kYes = "trees/Yes";
constexpr std::string_view kNo = "trees/No";

// Holds a node's name: "5-12" is node 12 of tree 5.
struct Node {
  int64_t tree;
  int64_t number;

  bool operator<(const Node &other) const {
    return std::tie(tree, number) < std::tie(other.tree, other.number);
  }
};

std::optional<Node> ReadNode(std::string_view id) {
  const size_t dash = id.find('-');
  if (dash == std::string_view::npos) return {};
  const auto tree = ParseInt(id.substr(0, dash));
  const auto number = ParseInt(id.substr(dash + 1));
  if (!tree || !number || *tree < 0 || *number < 0) return {};
  return Node{*tree, *number};
}

// Holds the columns of the table of a model's trees.
struct Table {
  std::string tensor;  // the tensor that holds the names
  std::vector<std::optional<Node>> ids;
  std::vector<std::optional<Node>> yes;
  std::vector<std::optional<Node>> no;
};

// Returns the depth of each tree; a root alone has depth 0.  If nodes are numbered by position, the
// number alone gives the depth.  If nodes are numbered in order of creation, only the table of
// children gives it.
std::map<int64_t, int64_t> DepthsOf(const Table &table) {
  const bool has_children =
      table.yes.size() == table.ids.size() && table.no.size() == table.ids.size();
  std::map<Node, int64_t> depths;
  std::map<int64_t, int64_t> of_trees;
  for (size_t i = 0; i < table.ids.size(); ++i) {
    const std::optional<Node> &node = table.ids[i];
    if (!node) continue;
    const auto known = depths.find(*node);
    int64_t depth = known == depths.end() ? 0 : known->second;
    if (has_children) {
      // A parent comes before its children.
      if (table.yes[i]) depths[*table.yes[i]] = depth + 1;
      if (table.no[i]) depths[*table.no[i]] = depth + 1;
    } else {
      depth = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(node->number) + 1)) - 1;
    }
    int64_t &of_tree = of_trees[node->tree];
    of_tree = std::max(of_tree, depth);
  }
  return of_trees;
}

class TreeDepth final : public Rule {
 public:
  TreeDepth(double depth, std::optional<double> min_depth)
      : Rule("TreeDepth"), depth_(depth), min_depth_(min_depth) {}

  bool Wants(std::string_view tensor, const Membership &) const override {
    return tensor.ends_with(kIds) || tensor.ends_with(kYes) || tensor.ends_with(kNo);
  }

  void Observe(const Sample &sample, Findings &) override {
    Table &table = tables_[std::string(sample.Worker())];
    const std::string_view tensor = sample.Tensor();
    auto &column = tensor.ends_with(kIds)   ? table.ids
                   : tensor.ends_with(kYes) ? table.yes
                                            : table.no;
    column.clear();
    for (const std::string_view id : sample.Texts()) column.push_back(ReadNode(id));
    if (tensor.ends_with(kIds)) table.tensor = tensor;
  }

  void EndStep(Findings &findings) override {
    for (const auto &[worker, table] : tables_) {
      const std::map<int64_t, int64_t> depths = DepthsOf(table);
      if (depths.empty()) continue;
      NoteEvaluated();
      const auto deepest =
          std::max_element(depths.begin(), depths.end(),
                           [](const auto &a, const auto &b) { return a.second < b.second; });
      if (static_cast<double>(deepest->second) > depth_) {
        Add(worker, table, "too_deep", *deepest, depth_, findings);
      }
      if (min_depth_ && static_cast<double>(depths.rbegin()->second) < *min_depth_) {
        Add(worker, table, "stunted", *depths.rbegin(), *min_depth_, findings);
      }
    }
    tables_.clear();
  }

  std::string Missing() const override { return "names of nodes, such as '0-3', in trees/ID"; }

 private:
  static void Add(const std::string &worker, const Table &table, std::string_view check,
                  std::pair<int64_t, int64_t> tree, double limit, Findings &findings) {
    Finding finding;
    finding.worker = worker;
    finding.tensor = table.tensor;
    finding.check = check;
    finding.value = static_cast<double>(tree.second);
    finding.limit = limit;
    finding.message = StrCat(
        "tree ", tree.first, " of '", table.tensor, "' has a depth of ", tree.second,
        check == "stunted" ? ", below the limit of " : ", above the limit of ", Shortest(limit));
    findings.Add(std::move(finding));
  }

  const double depth_;
  const std::optional<double> min_depth_;
  std::map<std::string, Table> tables_;  // of the current step, by worker
};

constexpr ParameterSpec kParameters[] = {
    {"depth", "4", "12", "maximum depth of the deepest tree"},
    {"min_depth", "None", "None", "minimum depth of the newest tree"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const double depth, parameters.Number("depth", 0, 1e9));
  SMD_ASSIGN_OR_RETURN(const std::optional<double> min_depth,
                       parameters.OptionalNumber("min_depth"));
  return std::unique_ptr<Rule>(std::make_unique<TreeDepth>(depth, min_depth));
}

}  // namespace

const RuleSpec kTreeDepth = {"TreeDepth", "a tree is deeper than the limit", kParameters, Make};

}  // namespace smdebug::rules

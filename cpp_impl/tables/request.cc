#include "tables/request.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/step.h"
#include "base/strings.h"
#include "rules/registry.h"

namespace smdebug::tables {
namespace {

constexpr std::array kOptions = {
    std::string_view("path"),       std::string_view("name"),       std::string_view("column"),
    std::string_view("trial"),      std::string_view("tensor"),     std::string_view("regex"),
    std::string_view("mode"),       std::string_view("collection"), std::string_view("worker"),
    std::string_view("end"),        std::string_view("first"),      std::string_view("compute"),
    std::string_view("damage"),     std::string_view("rule"),       std::string_view("profile"),
    std::string_view("batch_rows"), std::string_view("time_first"), std::string_view("time_end"),
    std::string_view("file"),       std::string_view("cache"),      std::string_view("texts")};

constexpr std::array kOfRows = {Table::kTensors, Table::kScalars};
constexpr std::array kOfFindings = {Table::kFindings};
constexpr std::array kOfNames = {Table::kTensors, Table::kScalars, Table::kFindings,
                                 Table::kProfileEvents, Table::kSystemMetrics};
constexpr std::array kWithModes = {Table::kTensors, Table::kScalars, Table::kFindings};

// Options that would change nothing in other tables.
struct OfTables {
  std::string_view option;
  std::span<const Table> tables;
};
constexpr std::array kOfTables = {
    OfTables{"collection", kOfRows}, OfTables{"tensor", kOfNames},
    OfTables{"regex", kOfNames},     OfTables{"mode", kWithModes},
    OfTables{"rule", kOfFindings},   OfTables{"profile", kOfFindings},
};

bool Contains(std::span<const Table> tables, Table table) {
  return std::find(tables.begin(), tables.end(), table) != tables.end();
}

Status BadValue(std::string_view option, std::string_view value, std::string_view wanted) {
  return InvalidConfig(StrCat(option, " is '", value.substr(0, 64), "'; it must be ", wanted));
}

Result<int64_t> WholeNumber(std::string_view option, std::string_view value, int64_t least,
                            int64_t most) {
  const auto number = ParseInt(value);
  if (number && *number >= least && *number <= most) return *number;
  return BadValue(option, value, StrCat("a whole number from ", least, " to ", most));
}

Result<Mode> ModeOf(std::string_view value) {
  std::string name(value);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto mode = ModeFromName(name);
  if (mode) return *mode;
  return BadValue("mode", value, "TRAIN, EVAL, PREDICT or GLOBAL");
}

Status AddRegex(std::string_view value, std::vector<Regex> *regexes) {
  SMD_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(value));
  regexes->push_back(std::move(regex));
  return Status::Ok();
}

bool IsBound(std::string_view option) {
  return option == "first" || option == "end" || option == "time_first" || option == "time_end";
}

// Parses "NAME" or "NAME {JSON}".
Status AddRule(std::string_view value, std::vector<RuleRequest> *rules) {
  const size_t end = std::min(value.find(' '), value.size());
  RuleRequest rule{std::string(value.substr(0, end)), "{}"};
  if (end < value.size()) rule.parameters = Trim(value.substr(end));
  SMD_ASSIGN_OR_RETURN(const auto given, rules::Parameters::FromJson(rule.parameters));
  // The name, the parameters and their values are checked before anything is read.
  const auto made = rules::BuiltinRule(rule.name, given, rules::Profile::kCalibrated);
  if (!made.IsOk()) return made.GetStatus();
  rules->push_back(std::move(rule));
  return Status::Ok();
}

Result<bool> IsFoundByAny(const std::vector<Regex> &regexes, std::string_view text) {
  for (const Regex &regex : regexes) {
    SMD_ASSIGN_OR_RETURN(const bool is_found, regex.IsFoundIn(text));
    if (is_found) return true;
  }
  return false;
}

}  // namespace

Status Request::Add(std::string_view option, std::string_view value) {
  const std::string text(value);
  given_.emplace(option);
  if (storage::StoreOptions::IsName(option)) return store_options.Set(option, value);
  if (option == "path") {
    if (Trim(value).empty()) return BadValue(option, value, "a folder, s3://... or a pattern");
    paths.push_back(text);
  } else if (option == "name") {
    name = text;
  } else if (option == "column") {
    SMD_ASSIGN_OR_RETURN(const size_t column, ColumnFromName(table, value));
    columns.push_back(column);
  } else if (option == "trial") {
    return AddRegex(value, &trials);
  } else if (option == "tensor") {
    tensors.insert(text);
  } else if (option == "regex") {
    return AddRegex(value, &regexes);
  } else if (option == "collection") {
    collection = text;
  } else if (option == "mode") {
    SMD_ASSIGN_OR_RETURN(const Mode mode, ModeOf(value));
    modes.insert(mode);
  } else if (option == "worker") {
    workers.insert(text);
  } else if (IsBound(option)) {
    return AddBound(option, value);
  } else if (option == "file") {
    files.insert(text);
  } else if (option == "compute" || option == "cache" || option == "damage" || option == "texts") {
    return AddChoice(option, value);
  } else if (option == "rule") {
    return AddRule(value, &rules);
  } else if (option == "profile") {
    if (value != "llm" && !rules::ProfileFromName(value)) {
      return BadValue(option, value, "'calibrated', 'aws' or 'llm'");
    }
    profile = text;
  } else if (option == "batch_rows") {
    SMD_ASSIGN_OR_RETURN(batch_rows, WholeNumber(option, value, 1, kMostRows));
  } else {
    return InvalidArgument(StrCat("a scan has no option '", option.substr(0, 64), "'",
                                  DidYouMean(option, {kOptions.begin(), kOptions.end()})));
  }
  return Status::Ok();
}

Status Request::AddChoice(std::string_view option, std::string_view value) {
  if (option == "damage") {
    if (value != "skip" && value != "fail") return BadValue(option, value, "'skip' or 'fail'");
    fails_on_damage = value == "fail";
  } else if (option == "texts") {
    const bool is_known = value == "plain" || value == "dictionary";
    if (!is_known) return BadValue(option, value, "'plain' or 'dictionary'");
    encodes_texts = value == "dictionary";
  } else {
    const auto on = ParseBool(value);
    if (!on) return BadValue(option, value, "true or false");
    (option == "compute" ? computes : uses_cache) = *on;
  }
  return Status::Ok();
}

Status Request::AddBound(std::string_view option, std::string_view value) {
  if (option == "first") {
    SMD_ASSIGN_OR_RETURN(steps.first, WholeNumber(option, value, 0, kMaxStep));
  } else if (option == "end") {
    SMD_ASSIGN_OR_RETURN(steps.end, WholeNumber(option, value, 0, kMaxStep + 1));
  } else {
    auto &time = option == "time_first" ? time_first : time_end;
    SMD_ASSIGN_OR_RETURN(time, WholeNumber(option, value, INT64_MIN, INT64_MAX));
  }
  return Status::Ok();
}

Status Request::Check() const {
  if (paths.empty()) return InvalidArgument("the scan has no path; add one or several");
  if (!name.empty() && paths.size() != 1) {
    return InvalidArgument("a name can be given for a single path only");
  }
  for (const OfTables &each : kOfTables) {
    if (given_.contains(each.option) && !Contains(each.tables, table)) {
      return InvalidArgument(StrCat("a scan of ", TableName(table), " has no condition '",
                                    each.option, "'; leave it out"));
    }
  }
  if (steps.end && *steps.end < steps.first) {
    return InvalidArgument(StrCat("first is ", steps.first, " and end is ", *steps.end,
                                  "; the first step must not be after the end"));
  }
  return Status::Ok();
}

std::vector<size_t> Request::Columns() const {
  if (!columns.empty()) return columns;
  std::vector<size_t> defaults;
  const auto all = ColumnsOf(table);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_default) defaults.push_back(i);
  }
  return defaults;
}

std::vector<ColumnSpec> Request::Schema() const {
  const auto all = ColumnsOf(table);
  std::vector<ColumnSpec> schema;
  for (const size_t column : Columns()) {
    ColumnSpec &spec = schema.emplace_back(all[column]);
    const bool is_coded = encodes_texts && spec.type == ColumnType::kText && spec.repeats;
    if (is_coded) spec.type = ColumnType::kCodes;
  }
  return schema;
}

Result<bool> Request::WantsTrial(std::string_view name_of_trial) const {
  if (trials.empty()) return true;
  return IsFoundByAny(trials, name_of_trial);
}

Result<bool> Request::WantsTensor(std::string_view name_of_tensor) const {
  if (tensors.empty() && regexes.empty()) return true;
  if (tensors.contains(name_of_tensor)) return true;
  return IsFoundByAny(regexes, name_of_tensor);
}

}  // namespace smdebug::tables

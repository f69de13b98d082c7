// What a scan asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/index_scanner.h"
#include "base/log.h"
#include "base/mode.h"
#include "base/regex.h"
#include "base/result.h"
#include "rules/support/parameters.h"
#include "storage/store_options.h"
#include "tables/table.h"

namespace smdebug::tables {

// A rule, and its parameters as a JSON object.
struct RuleRequest {
  std::string name;
  std::string parameters = "{}";
};

struct Request {
  static constexpr int64_t kDefaultRows = 16'384;
  static constexpr int64_t kMostRows = 16'777'216;

  explicit Request(Table of) : table(of) {}

  Table table;
  std::vector<std::string> paths;  // trials, folders of trials, patterns
  std::string name;                // of the only trial, instead of the last part of its path
  std::vector<size_t> columns;     // of ColumnsOf(table); empty: the default ones
  std::vector<Regex> trials;       // at least one is found in the trial's name
  std::set<std::string, std::less<>> tensors;  // names; with `regexes`: either suffices
  std::vector<Regex> regexes;                  // at least one is found in the tensor's name
  std::string collection;                      // holds the tensor
  std::set<Mode> modes;
  std::set<std::string, std::less<>> workers;
  analyze::StepRange steps;  // global
  // Microseconds since 1970, of the tables of profilers.
  std::optional<int64_t> time_first;
  std::optional<int64_t> time_end;
  std::set<std::string, std::less<>> files;  // ends of the names of a profiler's files
  bool computes = false;  // statistics that were not saved, from elements that were
  bool fails_on_damage = false;
  bool uses_cache = true;          // of rows
  bool encodes_texts = false;      // as codes
  std::vector<RuleRequest> rules;  // none: all of the profile whose defaults suffice
  std::string profile = "calibrated";
  int64_t batch_rows = kDefaultRows;
  storage::StoreOptions store_options;
  Logger logger;

  // Sets an option from text, or adds to one that has several values; names and values are those
  // of smd_scan_add().  Fails with INVALID_ARGUMENT for an unknown name, table or column,
  // INVALID_CONFIG for a bad value.
  Status Add(std::string_view option, std::string_view value);
  // Fails with INVALID_ARGUMENT if options are missing or contradict each other.
  Status Check() const;

  // The columns that are returned, in order, and what they are like.
  std::vector<size_t> Columns() const;
  std::vector<ColumnSpec> Schema() const;
  bool WantsWorker(std::string_view worker) const {
    return workers.empty() || workers.contains(worker);
  }
  // Fails with INVALID_CONFIG if an expression runs away.
  Result<bool> WantsTrial(std::string_view name) const;
  bool IsOfProfiler() const {
    return table == Table::kProfileEvents || table == Table::kSystemMetrics;
  }
  // Without regard to the collection.
  Result<bool> WantsTensor(std::string_view name) const;

 private:
  Status AddChoice(std::string_view option, std::string_view value);
  Status AddBound(std::string_view option, std::string_view value);

  std::set<std::string, std::less<>> given_;  // names of options
};

}  // namespace smdebug::tables

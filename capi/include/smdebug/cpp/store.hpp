// Checks that recording to a path and reading from it work.
#ifndef SMDEBUG_CPP_STORE_HPP
#define SMDEBUG_CPP_STORE_HPP

#include <string>
#include <vector>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/options.hpp"
#include "smdebug/store.h"

namespace smdebug {

// The result of one check.
struct StoreFinding {
  std::string name;     // such as "write"
  smd_code code;        // SMD_OK, or why it failed
  std::string message;  // what it found, or what to do
};

// Runs the checks of smd_store_check() on `path`; the first that fails is the last.
inline std::vector<StoreFinding> CheckStore(const CString &path,
                                            const HookOptions *options = nullptr) {
  using Owner = detail::Handle<smd_store_report, smd_store_report_free>;
  const Owner report = detail::Make<Owner>(smd_store_check, path.Get(),
                                           options == nullptr ? nullptr : options->Get());
  std::vector<StoreFinding> findings;
  for (size_t i = 0; i < smd_store_report_count(report.get()); ++i) {
    findings.push_back({smd_store_report_name(report.get(), i),
                        smd_store_report_code(report.get(), i),
                        smd_store_report_message(report.get(), i)});
  }
  return findings;
}

}  // namespace smdebug

#endif  // SMDEBUG_CPP_STORE_HPP

// A built-in rule by itself, as a rule that is asked of one step after another.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rules/panel_run.h"
#include "rules/rule.h"

namespace smdebug::rules {

// Knows the steps before the one it is asked of; asked of an earlier one, it begins anew.
class DetectorRule final : public Rule {
 public:
  using Make = std::function<std::unique_ptr<Detector>()>;

  explicit DetectorRule(Make make);

  const std::string &Name() const override { return name_; }
  Result<Judgement> Judge(Source &source, int64_t step) override;

 private:
  void BeginAnew();

  const Make make_;
  std::unique_ptr<Panel> panel_;
  int64_t last_shown_ = -1;
  std::string name_;
};

}  // namespace smdebug::rules

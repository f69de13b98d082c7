#include "run_verdict.h"

#include <cmath>

#include "json_writer.h"
#include "numbers.h"
#include "output.h"
#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kWidth = 60;
constexpr size_t kMostNames = 5;

void PrintWrapped(const std::string &text) {
  for (const std::string &line : Wrap(text, kWidth)) Print(line + "\n");
}

void PrintNames(const std::string &what, const std::set<std::string> &names) {
  if (names.empty()) return;
  Print(what + ": " + Count(names.size(), "tensor") + "\n");
  size_t shown = 0;
  for (const std::string &name : names) {
    if (++shown > kMostNames) {
      Print("  ...\n");
      break;
    }
    Print("  " + Shortened(Printable(name), kWidth - 2) + "\n");
  }
}

std::string StepOf(int64_t step, Mode mode) {
  const std::string text = "step " + std::to_string(step);
  return mode == Mode::kGlobal ? text : std::string(ModeName(mode)) + " " + text;
}

std::string BasisText(const RunBasis &basis) {
  std::string text;
  if (!basis.noise.empty()) text = "the noise of " + Count(basis.noise.size(), "run");
  if (!basis.rounding.empty()) {
    text += std::string(text.empty() ? "" : " and ") + "the rounding of " + basis.rounding;
  }
  return text;
}

// Returns the module, or what every gradient has in common.
std::string Culprit(const FirstDifference &first) {
  if (first.is_data) return "the data";
  if (first.factor) return "the scale of the loss, or clipping";
  return CulpritOf(first.tensor);
}

std::string Message(const FirstDifference &first) {
  if (!first.missing.empty()) {
    return std::string("only run ") + (first.missing == "A" ? "B" : "A") + " has this " +
           RunKindName(first.tensor.kind);
  }
  if (first.is_data) return "the runs were not given the same data";
  if (first.factor) return "every gradient of B is " + Short(*first.factor) + " times that of A";
  if (std::isinf(first.relative)) return "the shapes differ, or one run is not finite or is zero";
  const std::string times =
      first.limit > 0 ? ", " + Short(first.relative / first.limit) + " times the tolerance" : "";
  return std::string("the ") + RunKindName(first.tensor.kind) + " is off by " +
         Short(first.relative) + " of its norm" + times;
}

}  // namespace

void PrintRunVerdict(const RunVerdict &verdict, const RunBasis &basis) {
  PrintNames("not compared, since their parts do not fit", verdict.not_compared);
  PrintNames("only in A", verdict.only_in_a);
  PrintNames("only in B", verdict.only_in_b);
  for (const auto &[run, steps] :
       {std::pair("A", basis.steps_only_in_a), {"B", basis.steps_only_in_b}}) {
    if (steps > 0)
      Print(std::string("not compared: ") + Count(steps, "step") + " only in " + run + "\n");
  }
  PrintWrapped("compared " + Count(verdict.tensors, "value") + " of " +
               Count(verdict.steps, "step") + " within " + BasisText(basis));
  if (!verdict.first) {
    if (!verdict.closest_tensor.empty()) {
      PrintWrapped("closest: " + Short(verdict.closest) + " of the tolerance, '" +
                   Printable(verdict.closest_tensor) + "' at " +
                   StepOf(verdict.closest_step, basis.mode));
    }
    if (verdict.tensors > 0) Print(Styled("equal within the tolerances", Style::kGood) + "\n");
    return;
  }
  const FirstDifference &first = *verdict.first;
  Print("after it, " + std::to_string(verdict.after_different) + " of " +
        Count(verdict.after, "tensor") + " of the step differ\n");
  Print(Styled("first difference", Style::kBad) + ": " + StepOf(first.step, basis.mode) + "\n");
  Print("in: " + Printable(Culprit(first)) + "\n");
  Print("tensor: " + Printable(first.tensor.recorded.front()) + "\n");
  PrintWrapped(Message(first));
}

void PrintRunJson(const RunVerdict &verdict, const RunBasis &basis) {
  const auto list = [](const std::set<std::string> &names) {
    return std::vector<std::string>(names.begin(), names.end());
  };
  JsonWriter json;
  json.BeginObject()
      .Key("comparison")
      .BeginObject()
      .Key("equal")
      .Bool(verdict.tensors > 0 && !verdict.first);
  json.Key("mode").Text(ModeName(basis.mode));
  json.Key("steps").Whole(static_cast<int64_t>(verdict.steps));
  json.Key("values").Whole(static_cast<int64_t>(verdict.tensors));
  json.Key("steps_only_in_a").Whole(static_cast<int64_t>(basis.steps_only_in_a));
  json.Key("steps_only_in_b").Whole(static_cast<int64_t>(basis.steps_only_in_b));
  json.Key("noise").Texts(basis.noise).Key("rounding");
  basis.rounding.empty() ? json.Null() : json.Text(basis.rounding);
  json.Key("not_compared").Texts(list(verdict.not_compared));
  json.Key("only_in_a").Texts(list(verdict.only_in_a));
  json.Key("only_in_b").Texts(list(verdict.only_in_b));
  json.Key("closest").Number(verdict.closest).Key("closest_tensor").Text(verdict.closest_tensor);
  json.Key("first");
  if (verdict.first) {
    const FirstDifference &first = *verdict.first;
    json.BeginObject().Key("step").Whole(first.step).Key("module").Text(Culprit(first));
    json.Key("tensor").Text(first.tensor.recorded.front());
    json.Key("kind").Text(RunKindName(first.tensor.kind));
    json.Key("difference").Number(first.relative).Key("tolerance").Number(first.limit);
    json.Key("factor");
    first.factor ? json.Number(*first.factor) : json.Null();
    json.Key("message").Text(Message(first)).EndObject();
  } else {
    json.Null();
  }
  json.Key("after").Whole(static_cast<int64_t>(verdict.after));
  json.Key("after_different").Whole(static_cast<int64_t>(verdict.after_different));
  Print(json.EndObject().EndObject().Take() + "\n");
}

}  // namespace smdebug::cli

// Runs the conformance scenario through smdebug.hpp; see README.md.
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>

#include "cpp_record.h"

namespace {

using smdebug::Mode;
using smdebug::StepState;
using smdebug::Trial;

Json Names(const std::vector<std::string> &names) {
  Json list(cJSON_CreateArray());
  for (const std::string &name : names) Append(list, Text(name));
  return list;
}

Json Numbers(const std::vector<int64_t> &numbers) {
  Json list(cJSON_CreateArray());
  for (const int64_t number : numbers) Append(list, Number(number));
  return list;
}

Json Tensor(const smdebug::Value &value) {
  Json tensor(cJSON_CreateObject());
  Put(tensor, "dtype", Text(DTypeName(value.DType())));
  Put(tensor, "shape", Numbers(value.Shape()));
  if (value.DType() == smdebug::DType::kString) {
    Put(tensor, "strings", Names(value.Strings()));
  } else {
    Put(tensor, "data", Text(Hex(value.Data(), value.Bytes())));
  }
  return tensor;
}

Json Null() { return Json(cJSON_CreateNull()); }

// The arguments of a query.  Missing fields have their defaults.
struct Question {
  const Trial &trial;
  const cJSON *attached;
  std::string out_dir;
  const cJSON *query;
  Mode mode;
  int64_t step;

  std::string Get(const char *name) const { return TextOf(Member(query, name)); }
  smdebug::Tensor Tensor() const { return trial.Tensor(Get("tensor")); }
  // Returns NULL if the query has no worker.
  const char *Worker() const { return cJSON_GetStringValue(Member(query, "worker")); }
  // Returns the text with <trial> replaced by the folder of the trial.
  std::string Path(const cJSON *text) const { return Replaced(TextOf(text), "<trial>", out_dir); }
};

Json TensorNames(const Question &ask) {
  Trial::Names wanted;
  wanted.step = ask.step;
  wanted.mode = ask.mode;
  for (const cJSON *regex : Items(Member(ask.query, "regexes"))) {
    wanted.regexes.push_back(TextOf(regex));
  }
  std::optional<smdebug::Collection> collection;
  if (Member(ask.query, "collection") != nullptr) {
    collection = ask.trial.Collection(ask.Get("collection"));
    wanted.collection = &*collection;
  }
  return Names(ask.trial.TensorNames(wanted));
}

Json ModeStep(const Question &ask) {
  const auto [step, mode] = ask.trial.ModeStep(ask.step);
  if (mode == Mode::kAny) return Null();
  Json pair(cJSON_CreateArray());
  Append(pair, Text(ModeName(mode)));
  Append(pair, Number(step));
  return pair;
}

Json Modes(const Question &ask) {
  std::vector<std::string> names;
  for (const Mode mode : ask.trial.Modes()) names.emplace_back(ModeName(mode));
  return Names(names);
}

Json GlobalStep(const Question &ask) {
  const int64_t step = ask.trial.GlobalStep(ask.step, ask.mode);
  return step < 0 ? Null() : Number(step);
}

Json State(const Question &ask) {
  const StepState state = ask.trial.StepState(ask.step, ask.mode);
  if (state == StepState::kNotYet) return Text("NOT_YET");
  return Text(state == StepState::kAvailable ? "AVAILABLE" : "UNAVAILABLE");
}

Json Reduction(const Question &ask) {
  const bool absolute = cJSON_IsTrue(Member(ask.query, "absolute")) != 0;
  return Tensor(
      ask.Tensor().Reduction(ask.step, ask.Get("reduction"), absolute, ask.mode, ask.Worker()));
}

// Returns the steps with findings of one rule, without repetitions.
Json Rule(const Question &ask) {
  smdebug::RuleSet set;
  set.Add(ask.Get("rule"), Printed(Member(ask.query, "parameters")));
  std::vector<int64_t> steps;
  for (const smdebug::Finding &finding : set.Evaluate(ask.trial)) {
    if (steps.empty() || steps.back() != finding.step) steps.push_back(finding.step);
  }
  return Numbers(steps);
}

Json Findings(const Question &ask) {
  Json list(cJSON_CreateArray());
  Append(list, RuleSetOf(Member(ask.query, "rule_set")).Follow(ask.trial));
  return list;
}

Json Results(const Question &ask) {
  smdebug::RuleSet set = RuleSetOf(Member(ask.query, "rule_set"));
  set.Evaluate(ask.trial);
  Json list(cJSON_CreateArray());
  Append(list, set.Results());
  return list;
}

Json Diagnosis(const Question &ask) {
  smdebug::RuleSet set = RuleSetOf(Member(ask.query, "rule_set"));
  set.Evaluate(ask.trial);
  Json list(cJSON_CreateArray());
  Append(list, set.Diagnose());
  return list;
}

Json MakeHook(const Question &ask) {
  smdebug::HookOptions options;
  options.Set("worker", "worker_0");
  for (const cJSON *option : Items(Member(ask.query, "options"))) {
    options.Set(option->string, ask.Path(option));
  }
  const smdebug::Hook hook(options);
  return Null();
}

Json OpenTrial(const Question &ask) {
  smdebug::TrialOptions options;
  for (const cJSON *option : Items(Member(ask.query, "options"))) {
    options.Set(option->string, TextOf(option));
  }
  Trial::Open(ask.Path(Member(ask.query, "path")), options);
  return Null();
}

using Answer = std::function<Json(const Question &)>;

const std::map<std::string, Answer> &Answers() {
  using Q = const Question &;
  static const std::map<std::string, Answer> answers = {
      {"workers", [](Q ask) { return Names(ask.trial.Workers()); }},
      {"collections", [](Q ask) { return Names(ask.trial.Collections()); }},
      {"modes", Modes},
      {"steps", [](Q ask) { return Numbers(ask.trial.Steps(ask.mode)); }},
      {"tensor_names", TensorNames},
      {"recorded_names", [](Q ask) { return Names(ask.trial.RecordedNames(ask.step, ask.mode)); }},
      {"mode_step", ModeStep},
      {"global_step", GlobalStep},
      {"step_state", State},
      {"tensor_steps", [](Q ask) { return Numbers(ask.Tensor().Steps(ask.mode)); }},
      {"prev_steps",
       [](Q ask) {
         const int64_t count = NumberOf(Member(ask.query, "count"));
         return Numbers(ask.Tensor().PrevSteps(ask.step, ask.mode, count));
       }},
      {"tensor_workers", [](Q ask) { return Names(ask.Tensor().Workers(ask.step, ask.mode)); }},
      {"value", [](Q ask) { return Tensor(ask.Tensor().Value(ask.step, ask.mode, ask.Worker())); }},
      {"reduction", Reduction},
      {"reductions",
       [](Q ask) { return Names(ask.Tensor().Reductions(ask.step, ask.mode, ask.Worker())); }},
      {"shape",
       [](Q ask) { return Numbers(ask.Tensor().Shape(ask.step, ask.mode, ask.Worker())); }},
      {"rule", Rule},
      {"findings", Findings},
      {"results", Results},
      {"diagnosis", Diagnosis},
      {"attached",
       [](Q ask) { return Json(cJSON_Duplicate(Member(ask.attached, ask.Worker()), 1)); }},
      {"wait", [](Q ask) { return ask.trial.WaitForStep(ask.step, ask.mode), Null(); }},
      {"include", [](Q ask) { return smdebug::Collection("c").Include(ask.Get("regex")), Null(); }},
      {"hook", MakeHook},
      {"open", OpenTrial},
  };
  return answers;
}

Json Result(const Trial &trial, const Json &attached, const std::string &out_dir,
            const cJSON *query) {
  Question ask = {trial, attached.get(), out_dir, query, Mode::kGlobal, -1};
  if (const cJSON *mode = Member(query, "mode")) ask.mode = ModeNamed(TextOf(mode));
  if (const cJSON *step = Member(query, "step")) ask.step = NumberOf(step);
  Json result(cJSON_CreateObject());
  try {
    Put(result, "value", Answers().at(ask.Get("call"))(ask));
  } catch (const smdebug::Error &error) {
    Put(result, "code", Text(error.CodeName()));
    Put(result, "message", Text(Replaced(error.what(), out_dir, "<trial>")));
  }
  return result;
}

void Run(const char *scenario_path, const std::string &out_dir, const char *result_path) {
  std::ifstream file(scenario_path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const Json scenario(cJSON_Parse(text.c_str()));
  if (scenario == nullptr) throw std::runtime_error("the scenario is not JSON");
  const Json attached = Record(scenario.get(), out_dir);
  const Trial trial = Trial::Open(out_dir);
  Json results(cJSON_CreateObject());
  for (const cJSON *query : Items(Member(scenario.get(), "queries"))) {
    Put(results, TextOf(Member(query, "id")), Result(trial, attached, out_dir, query));
  }
  std::ofstream(result_path) << Printed(results.get());
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  try {
    Run(argv[1], argv[2], argv[3]);
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}

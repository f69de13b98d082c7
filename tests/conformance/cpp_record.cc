#include "cpp_record.h"

using smdebug::DType;
using smdebug::Mode;

Mode ModeNamed(const std::string &name) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict, Mode::kGlobal}) {
    if (name == ModeName(mode)) return mode;
  }
  throw std::runtime_error("no mode is named " + name);
}

smdebug::SaveConfig SaveConfigOf(const cJSON *every) {
  smdebug::SaveConfig config;
  for (const cJSON *mode : Items(every)) config.Set(ModeNamed(mode->string), NumberOf(mode));
  return config;
}

namespace {

DType DTypeNamed(const std::string &name) {
  for (smd_dtype dtype = SMD_FLOAT16; dtype <= SMD_STRING; ++dtype) {
    if (name == smd_dtype_name(dtype)) return static_cast<DType>(dtype);
  }
  throw std::runtime_error("no element type is named " + name);
}

smdebug::Collection CollectionOf(const cJSON *settings) {
  smdebug::Collection collection(TextOf(Member(settings, "name")));
  for (const cJSON *regex : Items(Member(settings, "regexes"))) collection.Include(TextOf(regex));
  if (const cJSON *every = Member(settings, "save_every")) {
    collection.SetSaveConfig(SaveConfigOf(every));
  }
  if (const cJSON *reductions = Member(settings, "reductions")) {
    smdebug::ReductionConfig config;
    config.Add(TextOf(reductions)).SetShape(cJSON_IsTrue(Member(settings, "shape")) != 0);
    collection.SetReductionConfig(config);
  }
  return collection;
}

smdebug::Hook HookFor(const cJSON *scenario, const std::string &out_dir,
                      const std::string &worker) {
  smdebug::HookOptions options;
  options.Set("out_dir", out_dir).Set("worker", worker);
  for (const cJSON *option : Items(Member(scenario, "options"))) {
    options.Set(option->string, TextOf(option));
  }
  options.SetSaveConfig(SaveConfigOf(Member(scenario, "save_every")));
  for (const cJSON *collection : Items(Member(scenario, "collections"))) {
    options.AddCollection(CollectionOf(collection));
  }
  smdebug::Hook hook(options);
  hook.Attach(RuleSetOf(Member(scenario, "attach")));
  return hook;
}

smdebug::Shape ShapeOf(const cJSON *sizes) {
  std::vector<int64_t> shape;
  for (const cJSON *size : Items(sizes)) shape.push_back(NumberOf(size));
  return shape;
}

std::vector<std::string> TextsOf(const cJSON *list) {
  std::vector<std::string> texts;
  for (const cJSON *text : Items(list)) texts.push_back(TextOf(text));
  return texts;
}

// Calls `save` with a view of a tensor of the scenario.
template <class Save>
void WithView(const cJSON *tensor, const char *worker, Save &&save) {
  const DType dtype = DTypeNamed(TextOf(Member(tensor, "dtype")));
  const smdebug::Shape shape = ShapeOf(Member(tensor, "shape"));
  if (dtype == DType::kString) {
    const std::vector<std::string> texts = TextsOf(Member(Member(tensor, "strings"), worker));
    std::vector<const char *> pointers;
    for (const std::string &text : texts) pointers.push_back(text.c_str());
    save(smdebug::View(dtype, pointers.data(), shape));
  } else {
    const std::vector<unsigned char> data = Bytes(TextOf(Member(Member(tensor, "data"), worker)));
    save(smdebug::View(dtype, data.data(), shape));
  }
}

void RecordStep(smdebug::Hook &hook, const cJSON *step, const char *worker) {
  smdebug::StepGuard guard = hook.Step(ModeNamed(TextOf(Member(step, "mode"))));
  for (const cJSON *tensor : Items(Member(step, "tensors"))) {
    WithView(tensor, worker,
             [&](const smdebug::View &view) { hook.Save(TextOf(Member(tensor, "name")), view); });
  }
  for (const cJSON *scalar : Items(Member(step, "scalars"))) {
    const std::vector<double> value = {cJSON_GetNumberValue(Member(scalar, "value"))};
    hook.SaveScalar(TextOf(Member(scalar, "name")), value);
  }
  for (const cJSON *tensor : Items(Member(step, "custom"))) {
    WithView(tensor, worker, [&](const smdebug::View &view) {
      hook.SaveCustom(TextOf(Member(tensor, "name")), view, TextsOf(Member(tensor, "collections")));
    });
  }
  guard.End();
}

}  // namespace

Json Record(const cJSON *scenario, const std::string &out_dir) {
  struct Attached {
    smdebug::Hook hook;
    Json actions;
    Json findings;
  };
  const std::vector<std::string> workers = TextsOf(Member(scenario, "workers"));
  std::vector<Attached> all;
  for (const std::string &worker : workers) {
    all.push_back(
        {HookFor(scenario, out_dir, worker), Json(cJSON_CreateArray()), Json(cJSON_CreateArray())});
  }
  for (const cJSON *step : Items(Member(scenario, "steps"))) {
    for (size_t i = 0; i < workers.size(); ++i) {
      RecordStep(all[i].hook, step, workers[i].c_str());
      Append(all[i].actions, Text(NameOf(all[i].hook.LastAction())));
      Append(all[i].findings, all[i].hook.TakeFindings());
    }
  }
  Json attached(cJSON_CreateObject());
  for (size_t i = 0; i < workers.size(); ++i) {
    all[i].hook.Close();
    Json said(cJSON_CreateObject());
    Put(said, "actions", std::move(all[i].actions));
    Put(said, "findings", std::move(all[i].findings));
    Put(attached, workers[i], std::move(said));
  }
  return attached;
}

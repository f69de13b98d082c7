#include "verify.h"

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "json_writer.h"
#include "output.h"
#include "progress.h"
#include "saved.h"
#include "smdebug/cpp/sys/files.hpp"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

struct Fault {
  std::string code;
  std::string message;
  std::string path;  // "" if it is unknown
  std::string tensor;
  std::string worker;
  int64_t step = -1;
};

struct Counts {
  size_t records = 0;
  uint64_t bytes = 0;
  size_t files = 0;  // the number of event files read from end to end
};

// Reads a trial by its index.
class TrialReader {
 public:
  TrialReader(const Trial &trial, Counts *counts, std::vector<Fault> *faults)
      : trial_(trial), counts_(counts), faults_(faults) {}

  void Read() {
    const std::vector<std::string> names = trial_.TensorNames();
    size_t total = 0;
    for (const std::string &name : names) {
      Guarded(name, -1, "",
              [&] { total += trial_.Tensor(name).Steps(Mode::kGlobal, true).size(); });
    }
    Progress progress("Reading tensors", total);
    for (const std::string &name : names) {
      Guarded(name, -1, "", [&] { ReadTensor(trial_.Tensor(name), &progress); });
    }
  }

 private:
  void ReadTensor(const Tensor &tensor, Progress *progress) {
    const std::vector<int64_t> steps = tensor.Steps(Mode::kGlobal, true);
    for (size_t i = 0; i < steps.size(); ++i) {
      FetchAhead(trial_, tensor.Name(), steps, i);
      Guarded(tensor.Name(), steps[i], "", [&] {
        for (const std::string &worker : tensor.Workers(steps[i])) {
          ReadStep(tensor, steps[i], worker);
        }
      });
      progress->Advance();
    }
  }

  void ReadStep(const Tensor &tensor, int64_t step, const std::string &worker) {
    const std::string &of = tensor.Name();
    Guarded(of, step, worker, [&] { Take(tensor.Value(step, Mode::kGlobal, worker)); });
    for (const std::string &name : tensor.Reductions(step, Mode::kGlobal, worker)) {
      const auto [plain, is_absolute] = ReductionOf(name);
      Guarded(of, step, worker, [&, plain = plain, is_absolute = is_absolute] {
        Take(tensor.Reduction(step, plain, is_absolute, Mode::kGlobal, worker));
      });
    }
  }

  void Take(const Value &value) {
    ++counts_->records;
    counts_->bytes += value.Bytes();
  }

  template <class Do>
  void Guarded(const std::string &tensor, int64_t step, const std::string &worker, const Do &read) {
    try {
      read();
    } catch (const Error &error) {
      const std::string path = error.Detail("path").value_or("");
      const smd_code code = error.Code();
      // No path means that no value was saved, only reductions or a shape.
      if (code == SMD_VALUE_UNAVAILABLE && path.empty()) return;
      if (!Damage::IsOfTrial(error)) throw;
      const std::string message =
          code == SMD_VALUE_UNAVAILABLE
              ? trial_.Path() + "/" + path + ": the index names this file, but it does not exist"
              : error.what();
      faults_->push_back({error.CodeName(), message, path, tensor, worker, step});
    }
  }

  const Trial &trial_;
  Counts *const counts_;
  std::vector<Fault> *const faults_;
};

// Reads the event files of a folder from end to end, independent of the index.
class FileReader {
 public:
  FileReader(const std::string &folder, Counts *counts, std::vector<Fault> *faults)
      : folder_(std::filesystem::weakly_canonical(folder).string()),
        counts_(counts),
        faults_(faults) {
    for (const Fault &fault : *faults) known_.insert(Relative(fault.path));
  }

  void Read() {
    const std::vector<std::filesystem::path> files = List();
    Progress progress("Reading event files", files.size());
    for (const std::filesystem::path &path : files) {
      const std::string name = Relative(path.string());
      if (known_.count(name) == 0) ReadFile(path, name);
      progress.Advance();
    }
  }

  // Returns the event files without an index file: the job was cut off there.
  const std::vector<std::string> &WithoutIndex() const { return without_index_; }

 private:
  std::string Relative(const std::string &path) const {
    return path.starts_with(folder_ + "/") ? path.substr(folder_.size() + 1) : path;
  }

  std::vector<std::filesystem::path> List() const {
    std::vector<std::filesystem::path> files;
    const std::filesystem::path events = std::filesystem::path(folder_) / "events";
    std::error_code error;
    // The iterator does not follow links.
    std::filesystem::recursive_directory_iterator entry(events, error);
    const std::filesystem::recursive_directory_iterator end;
    while (!error && entry != end) {
      if (entry->path().extension() == ".tfevents") files.push_back(entry->path());
      entry.increment(error);
    }
    const bool is_missing = error == std::errc::no_such_file_or_directory;
    if (error && !is_missing) {
      faults_->push_back({smd_code_name(SMD_IO),
                          events.string() + ": cannot search for event files: " + error.message(),
                          "events", "", "", -1});
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  void ReadFile(const std::filesystem::path &path, const std::string &name) {
    ++counts_->files;
    try {
      EventFile file(path.string());
      while (file.Next()) continue;
    } catch (const Error &error) {
      if (error.Code() == SMD_NOT_FOUND) return;  // removed meanwhile
      faults_->push_back({error.CodeName(), error.what(), name, "", "", -1});
    }
    std::error_code error;
    if (!std::filesystem::exists(IndexOf(path), error)) without_index_.push_back(name);
  }

  std::filesystem::path IndexOf(const std::filesystem::path &event_file) const {
    const std::string stem = event_file.stem().string();
    const int64_t step = std::strtoll(stem.c_str(), nullptr, 10);
    std::string bucket = std::to_string(step / 1000);
    bucket.insert(0, bucket.size() < 9 ? 9 - bucket.size() : 0, '0');
    return std::filesystem::path(folder_) / "index" / bucket / (stem + ".json");
  }

  const std::string folder_;
  Counts *const counts_;
  std::vector<Fault> *const faults_;
  std::set<std::string> known_;  // event files with damage
  std::vector<std::string> without_index_;
};

class Verify final : public Command {
 public:
  const char *Name() const override { return "verify"; }
  const char *Summary() const override {
    return "read every record of a trial, and list what is damaged";
  }
  const char *Details() const override {
    return "Reads index files, collections, and every value and reduction that they name, and "
           "checks "
           "their checksums. If the trial is in a folder, also reads each event file from end to "
           "end.";
  }
  const char *Examples() const override {
    return "smdebug verify run\n"
           "smdebug verify s3://my-bucket/run --json\n";
  }

  void Declare(Arguments &arguments) override {
    trial_.DeclareTrial(arguments);
    arguments.Flag("--all", "print each fault, not only the first of each damaged file", &all_);
    arguments.Flag("--json", "print one object per fault and a summary, for programs", &as_json_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    // A mistake in the command is no fault of the trial.
    TrialOptions options;
    trial_.ApplyTo(&options);
    ReadTrial();
    std::vector<std::string> without_index;
    if (IsLocal(trial_.Path())) {
      FileReader files(InHome(trial_.Path()), &counts_, &faults_);
      files.Read();
      without_index = files.WithoutIndex();
    }
    if (as_json_) {
      PrintJson(without_index);
    } else {
      PrintText(without_index);
    }
    return faults_.empty() ? ExitCode::kNoFindings : ExitCode::kFindings;
  }

 private:
  void Note(const Error &error) {
    faults_.push_back(
        {error.CodeName(), error.what(), error.Detail("path").value_or(""), "", "", -1});
  }

  void ReadTrial() {
    try {
      const Trial trial = trial_.Open(trial_.Path(), [this](const Error &error) { Note(error); });
      TrialReader(trial, &counts_, &faults_).Read();
    } catch (const Error &error) {
      // Without collections the other checks cannot run, but the event files are still read.
      const bool is_no_trial = error.Code() == SMD_MISSING_COLLECTIONS && !HasEvents();
      if (is_no_trial || error.Code() == SMD_NOT_FOUND || error.Code() == SMD_INVALID_ARGUMENT ||
          !Damage::IsOfTrial(error))
        throw;
      if (!IsLocal(trial_.Path()) && error.Code() != SMD_CORRUPT_DATA) throw;
      Note(error);
    }
  }

  bool HasEvents() const {
    std::error_code error;
    return IsLocal(trial_.Path()) &&
           std::filesystem::is_directory(InHome(trial_.Path()) + "/events", error);
  }

  std::string Sum() const {
    std::string sum = Count(counts_.records, "record") + " with " + BytesText(counts_.bytes);
    if (IsLocal(trial_.Path())) sum += ", " + Count(counts_.files, "event file");
    return sum + ", " + (faults_.empty() ? "no faults" : Count(faults_.size(), "fault"));
  }

  static void PrintFault(const Fault &fault, size_t others) {
    Print(Styled("fault", Style::kBad) + "  " + Printable(fault.message));
    if (fault.step >= 0) {
      Print(Printable(" ('" + fault.tensor + "' at step " + std::to_string(fault.step) + " of " +
                      fault.worker + ")"));
    }
    if (others > 0) Print("; " + Count(others, "more fault") + " in this file, see --all");
    Print("\n");
  }

  void PrintText(const std::vector<std::string> &without_index) const {
    std::map<std::string, size_t> by_file;
    for (const Fault &fault : faults_) ++by_file[fault.path];
    for (const Fault &fault : faults_) {
      // Counts the others of its file, and removes them.
      size_t *const left = &by_file[fault.path];
      const size_t others = all_ || fault.path.empty() || *left == 0 ? 0 : *left - 1;
      if (!all_ && !fault.path.empty() && std::exchange(*left, 0) == 0) continue;
      PrintFault(fault, others);
    }
    for (const std::string &name : without_index) {
      Print(Styled("note", Style::kWarning) + "   " + Printable(name) +
            ": has no index file, so it belongs to no step\n");
    }
    Print(Printable(trial_.Path()) + ": " + Sum() + "\n");
  }

  void PrintJson(const std::vector<std::string> &without_index) const {
    JsonWriter json;
    const auto text_or_null = [&json](const char *key, const std::string &text) {
      json.Key(key);
      text.empty() ? json.Null() : json.Text(text);
    };
    for (const Fault &fault : faults_) {
      json.BeginObject().Key("code").Text(fault.code);
      text_or_null("path", fault.path);
      text_or_null("tensor", fault.tensor);
      text_or_null("worker", fault.worker);
      json.Key("step");
      fault.step < 0 ? json.Null() : json.Whole(fault.step);
      Print(json.Key("message").Text(fault.message).EndObject().Take() + "\n");
    }
    json.BeginObject().Key("summary").BeginObject();
    json.Key("records").Whole(static_cast<int64_t>(counts_.records));
    json.Key("bytes").Whole(static_cast<int64_t>(counts_.bytes));
    json.Key("event_files").Whole(static_cast<int64_t>(counts_.files));
    json.Key("without_index").Texts(without_index);
    json.Key("faults").Whole(static_cast<int64_t>(faults_.size()));
    Print(json.EndObject().EndObject().Take() + "\n");
  }

  TrialArguments trial_;
  bool all_ = false;
  bool as_json_ = false;
  Counts counts_;
  std::vector<Fault> faults_;
};

}  // namespace

std::unique_ptr<Command> MakeVerify() { return std::make_unique<Verify>(); }

}  // namespace smdebug::cli

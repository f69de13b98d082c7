// Reads the samples and spans of a profiler folder, between two times or in windows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "profile/file_texts.h"
#include "profile_rules/name_table.h"
#include "profile_rules/span.h"
#include "storage/store.h"

namespace smdebug::profile_rules {

// What was recorded in a range of time, in the order of the files.
struct Events {
  std::vector<Sample> samples;
  std::vector<Span> spans;

  bool IsEmpty() const { return samples.empty() && spans.empty(); }
  void Clear();
};

// What cannot be read is logged and skipped.  For one thread at a time.
class ProfileReader {
 public:
  // More events than these of one window are returned in parts.
  static constexpr size_t kMostAtOnce = 1'000'000;

  // Lists the files.  Fails as the store does, and with NOT_FOUND if there are none.
  static Result<ProfileReader> Open(std::string_view path, const storage::StoreOptions &options,
                                    const Logger &logger, NameTable *names);

  // Times in the names of the first and the last file, in microseconds since 1970.
  int64_t FirstTime() const { return first_time_; }
  int64_t LastTime() const { return last_time_; }
  const std::string &Location() const { return store_->Location(); }

  // Returns the events that overlap a range, both ends included, in microseconds.  Fails as the
  // store does when it lists files.
  Result<Events> Between(int64_t begin, int64_t end);

  // Reads on, and returns what began before `end`, but nothing twice.  Fills `out` with at most
  // about kMostAtOnce events, and returns true if there are more before `end`.
  bool Next(int64_t end, Events *out);
  // Reports whether Next() has returned everything.
  bool IsAtEnd() const;

 private:
  ProfileReader(std::shared_ptr<storage::Store> store, Logger logger, NameTable *names);

  Status List();
  void ReadFile(profile::FileTexts *texts, bool is_system, Events *out);
  void ReadSamples(profile::TextPieces text, const std::string &place, Events *out);
  void ReadSpans(profile::TextPieces text, const profile::ProfileFile &file,
                 const std::string &place, profile::TimelineState *state, Events *out);
  Span Understand(const profile::TimelineEvent &event, NameId worker, FileType type);
  bool IsOfDevice(NameId phase, std::string_view name);
  void Complain(const profile::Damage &damage, const std::string &place) const;
  template <class Item, class IsBefore>
  static void Move(std::vector<Item> *from, std::vector<Item> *to, IsBefore is_before);

  std::shared_ptr<storage::Store> store_;
  Logger logger_;
  NameTable *names_;
  int64_t first_time_ = 0;
  int64_t last_time_ = 0;
  std::vector<profile::ProfileFile> system_files_;
  std::vector<profile::ProfileFile> timeline_files_;
  std::optional<profile::FileTexts> system_;
  std::optional<profile::FileTexts> timeline_;
  int64_t timeline_end_ = INT64_MIN;  // stamp of the last file that was read
  Events held_;                       // read, and not yet returned
  // By the names of a phase and of an event; the event's matters if the phase's is unknown.
  std::map<std::pair<NameId, NameId>, Category> categories_;
  std::map<NameId, bool> devices_;  // whether the phase is a row of an accelerator
};

}  // namespace smdebug::profile_rules

// Remembers what the trials of a folder hold once they have ended, so that listing many trials
// again needs one look at each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace smdebug::tables {

// What the names and times of a trial's files, and its end marker, say.
struct TrialSummary {
  int64_t steps = 0;
  std::optional<int64_t> first_step;
  std::optional<int64_t> last_step;
  int64_t workers = 0;
  std::optional<int64_t> first_time;  // microseconds since 1970
  std::optional<int64_t> last_time;
  std::string failure;  // why the job failed, or empty

  bool operator==(const TrialSummary &) const = default;
};

// The catalogue of the trials found below one folder or prefix of a bucket.  It is a file in
// $XDG_CACHE_HOME/libsmdebug/catalogue, or else in ~/.cache, and never beside the trials.  An entry
// is valid as long as the trial's end marker is the same file.  A file that was not written for 90
// days is removed when another one is written.  A catalogue that cannot be read or
// written is empty, and costs time only.  Find() is safe from any thread while no other function
// runs.
class Catalogue {
 public:
  // Reads the catalogue of the folder.
  explicit Catalogue(std::string folder);
  // Writes what was noted.
  ~Catalogue();
  Catalogue(const Catalogue &) = delete;
  Catalogue &operator=(const Catalogue &) = delete;

  // `marker` is the version of the trial's end marker.
  const TrialSummary *Find(const std::string &trial, std::string_view marker) const;
  void Note(const std::string &trial, std::string marker, const TrialSummary &summary);

 private:
  struct Entry {
    std::string marker;
    TrialSummary summary;
  };
  void Load();
  void Save();

  const std::string folder_;
  std::string path_;                      // of the file; empty: none
  size_t news_ = 0;                       // entries that the file lacks
  std::map<std::string, Entry> entries_;  // by the trial's path
};

}  // namespace smdebug::tables

#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/event.pb-c.h"
#include "format/event_reader.h"
#include "format/index_json.h"
#include "format/index_json_scan.h"
#include "format/paths.h"
#include "format/scalar_record.h"
#include "format/tfrecord.h"
#include "target.h"
#include "tensor/statistics.h"

namespace smdebug::fuzz {
namespace {

using namespace format;

struct FreeEvent {
  void operator()(Smdebug__Format__Event *event) const {
    smdebug__format__event__free_unpacked(event, nullptr);
  }
};

// The quick reader of scalars takes nothing that the other one does not, and reads the same.
void CheckScalar(std::optional<ScalarRecord> scalar,
                 const Result<std::optional<TensorEvent>> &whole) {
  if (!scalar) return;
  Require(whole.IsOk() && *whole, "what is read as a scalar is a tensor");
  const TensorEvent &event = **whole;
  Require(event.shape.empty() || event.shape == std::vector<int64_t>{1},
          "a scalar has one element");
  Require(std::bit_cast<uint64_t>(event.context.wall_time) ==
              std::bit_cast<uint64_t>(scalar->wall_time),
          "both readers read the same time");
  const auto statistics =
      tensor::ComputeStatistics({event.content.data(), event.shape, {}, event.dtype});
  Require(statistics.IsOk(), "its element can be read");
  // Of NaN and infinity, whether there is one.
  const bool is_finite = statistics->nan_count == 0 && std::isfinite(scalar->number);
  Require(!is_finite || statistics->plain.sum == scalar->number,
          "both readers read the same number");
  Require((statistics->nan_count == 1) == std::isnan(scalar->number), "both readers read the same");
}

// The first byte says where the record is cut into parts.
void Record(std::string_view input) {
  if (input.empty()) return;
  const auto where = static_cast<unsigned char>(input.front());
  const std::string_view record = input.substr(1);
  const ByteSpan bytes = AsBytes(record);
  if (bytes.size() >= kRecordHeaderSize) {
    static_cast<void>(ParseRecordHeader(bytes.first(kRecordHeaderSize)));
  }
  const auto whole = ParseRecord({bytes, {}, {}});
  const size_t cut = bytes.size() * where / 255;
  const auto parts = ParseRecord({bytes.first(cut), bytes.subspan(cut), {}});
  const auto located = LocatePayload(bytes, bytes.size());
  ScalarReader scalars;
  CheckScalar(scalars.Read(bytes), whole);
  CheckScalar(scalars.Read(bytes), whole);
  if (!whole.IsOk() || !*whole) return;
  Require(located.IsOk(), "the payload of a record that is read can be located");
  if (*located) {
    Require(record.substr((*located)->offset, (*located)->size) == AsText((*whole)->content),
            "the payload lies where it was located");
  }
  Require(!parts.IsOk() || !*parts || (*parts)->name == (*whole)->name,
          "a record in parts is the same record");
}

// What is read here is what protobuf-c reads, if it reads it: it refuses a known field of an
// unexpected wire type, which protobuf passes over.  The input is an event without its frame.
void Event(std::string_view input) {
  std::string record(AsText(RecordHeader(input.size())));
  record.append(input).append(AsText(RecordFooter(kConstantFooter)));
  const auto ours = ParseRecord({AsBytes(record), {}, {}});
  if (!ours.IsOk() || !*ours) return;
  const std::unique_ptr<Smdebug__Format__Event, FreeEvent> theirs(smdebug__format__event__unpack(
      nullptr, input.size(), reinterpret_cast<const uint8_t *>(input.data())));
  if (theirs == nullptr) return;
  Require(theirs->step == (*ours)->context.step, "the steps are equal");
  Require(theirs->what_case == SMDEBUG__FORMAT__EVENT__WHAT_SUMMARY, "protobuf-c finds a summary");
  size_t tensors = 0;
  for (size_t i = 0; i < theirs->summary->n_value; ++i) {
    const auto &value = *theirs->summary->value[i];
    if (value.value_case != SMDEBUG__FORMAT__SUMMARY__VALUE__VALUE_TENSOR) continue;
    ++tensors;
    Require((*ours)->name ==
                std::string_view(reinterpret_cast<const char *>(value.tag.data), value.tag.len),
            "the names are equal");
  }
  Require(tensors == 1, "there is one tensor");
}

// The quick reader takes nothing that the other one does not, and reads the same.
void Index(std::string_view input) {
  IndexFile scanned;
  const bool is_scanned = ScanIndex(input, &scanned);
  const auto parsed = IndexFromJson(input, "index");
  if (is_scanned) {
    Require(parsed.IsOk(), "what is scanned can be parsed");
    Require(IndexToJson(scanned) == IndexToJson(*parsed), "both readers read the same");
  }
  // Tensors in an event file called "" are read, as the original does, and never written.
  if (!parsed.IsOk() || (parsed->event_file_name.empty() && !parsed->tensors.empty())) return;
  const std::string text = IndexToJson(*parsed);
  const auto again = IndexFromJson(text, "index");
  Require(again.IsOk() && IndexToJson(*again) == text, "an index survives being written");
}

void FileNames(std::string_view input) {
  static_cast<void>(IsInsideTrial(input));
  if (const auto file = ParseStepFileName(input)) {
    const std::string name = IndexFileName(file->step, file->worker);
    const auto again = ParseStepFileName(name.substr(name.rfind('/') + 1));
    Require(again && again->step == file->step, "a step survives being written");
  }
  static_cast<void>(ParseCollectionsFileName(input));
  if (!CheckWorkerName(input).IsOk()) return;
  const std::string name = EventFileName(7, input);
  Require(IsInsideTrial(name), "a worker's file lies in the trial");
  const auto file = ParseStepFileName(name.substr(name.rfind('/') + 1));
  Require(file && file->step == 7, "a worker's file is known by its name");
}

constexpr std::array kTargets = {
    Target{"record", Record},
    Target{"event", Event},
    Target{"index", Index},
    Target{"file_names", FileNames},
};

}  // namespace

std::span<const Target> FormatTargets() { return kTargets; }

}  // namespace smdebug::fuzz

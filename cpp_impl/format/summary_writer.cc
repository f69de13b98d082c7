#include "format/summary_writer.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "format/tfrecord.h"
#include "format/wire_writer.h"

namespace smdebug::format {
namespace {

constexpr std::string_view kVersion = "brain.Event:2";

uint64_t ScalarFieldSize(double number) { return number == 0 ? 0 : 1 + sizeof number; }

// Appends a record.  `write` writes its payload of `size` bytes.
template <class Write>
void AppendRecord(uint64_t size, std::string *out, Write write) {
  const size_t begin = out->size() + kRecordHeaderSize;
  out->append(AsText(RecordHeader(size)));
  out->resize(begin + size);
  WireWriter writer(out->data() + begin);
  write(writer);
  const uint32_t crc = MaskedCrc32c(Crc32c(AsBytes(*out).subspan(begin)));
  out->append(AsText(RecordFooter(crc)));
}

void WriteDoubles(uint32_t field, const std::vector<double> &numbers, WireWriter &writer) {
  writer.Header(field, numbers.size() * sizeof(double));
  for (const double number : numbers) writer.Raw(number);
}

uint64_t HistogramSize(const tensor::Histogram &histogram) {
  return ScalarFieldSize(histogram.min) + ScalarFieldSize(histogram.max) +
         ScalarFieldSize(static_cast<double>(histogram.count)) + ScalarFieldSize(histogram.sum) +
         ScalarFieldSize(histogram.sum_squares) +
         BytesSize(histogram.limits.size() * sizeof(double)) +
         BytesSize(histogram.counts.size() * sizeof(double));
}

void WriteHistogram(const tensor::Histogram &histogram, WireWriter &writer) {
  writer.Double(histogram_field::kMin, histogram.min);
  writer.Double(histogram_field::kMax, histogram.max);
  writer.Double(histogram_field::kNum, static_cast<double>(histogram.count));
  writer.Double(histogram_field::kSum, histogram.sum);
  writer.Double(histogram_field::kSumSquares, histogram.sum_squares);
  WriteDoubles(histogram_field::kBucketLimit, histogram.limits, writer);
  WriteDoubles(histogram_field::kBucket, histogram.counts, writer);
}

bool IsTagLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '/' || letter == '_' ||
         letter == '.' || (static_cast<unsigned char>(letter) & 0x80) != 0;
}

// Appends an event with one summary value, which has `value_size` bytes after its tag.
template <class WriteValue>
void AppendValue(int64_t step, double wall_time, std::string_view tag, uint64_t value_size,
                 std::string *out, WriteValue write_value) {
  const uint64_t value = BytesSize(tag.size()) + value_size;
  const uint64_t summary = BytesSize(value);
  const uint64_t size =
      ScalarFieldSize(wall_time) + NumberSize(static_cast<uint64_t>(step)) + BytesSize(summary);
  AppendRecord(size, out, [&](WireWriter &writer) {
    writer.Double(event_field::kWallTime, wall_time);
    writer.Number(event_field::kStep, static_cast<uint64_t>(step));
    writer.Header(event_field::kSummary, summary);
    writer.Header(summary_field::kValue, value);
    writer.Bytes(value_field::kTag, tag);
    write_value(writer);
  });
}

}  // namespace

std::string SummaryTag(std::string_view name) {
  const size_t begin = std::min(name.find_first_not_of('/'), name.size());
  std::string tag(name.substr(begin));
  for (char &letter : tag) {
    if (!IsTagLetter(letter)) letter = '_';
  }
  return tag;
}

void SummaryWriter::AddVersion(std::string *out) const {
  AppendRecord(ScalarFieldSize(wall_time_) + BytesSize(kVersion.size()), out,
               [this](WireWriter &writer) {
                 writer.Double(event_field::kWallTime, wall_time_);
                 writer.Bytes(event_field::kFileVersion, kVersion);
               });
}

void SummaryWriter::AddScalar(std::string_view tag, float value, std::string *out) const {
  // The value is written even if it is 0: the member of the oneof that is present gives its type.
  AppendValue(step_, wall_time_, tag, 1 + sizeof value, out,
              [value](WireWriter &writer) { writer.Float(value_field::kSimpleValue, value); });
}

void SummaryWriter::AddHistogram(std::string_view tag, const tensor::Histogram &histogram,
                                 std::string *out) const {
  const uint64_t size = HistogramSize(histogram);
  AppendValue(step_, wall_time_, tag, BytesSize(size), out, [&](WireWriter &writer) {
    writer.Header(value_field::kHistogram, size);
    WriteHistogram(histogram, writer);
  });
}

}  // namespace smdebug::format

// Decodes records of one number, of which trials have very many: reductions and scalars.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/bytes.h"

namespace smdebug::format {

struct ScalarRecord {
  double number = 0;
  double wall_time = 0;  // seconds since 1970
};

// Reads one record after another.  For one thread.
class ScalarReader {
 public:
  // Returns what a record holds that this library wrote for a float32, float64 or int64 tensor of
  // shape () or (1).  Returns nothing for any other record, including one that ParseRecord()
  // reports as damaged.
  std::optional<ScalarRecord> Read(ByteSpan record);

 private:
  bool IsOfMode(ByteSpan metadata);

  // The mode and the mode's step of the last record.  All records of a step have the same, so most
  // are only compared.
  std::array<std::byte, 64> metadata_{};
  size_t metadata_size_ = 0;
};

}  // namespace smdebug::format

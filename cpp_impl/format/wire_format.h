// Defines the field numbers of event.proto, and protobuf's wire types.
#pragma once

#include <cstdint>

namespace smdebug::format {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

namespace event_field {
inline constexpr uint32_t kWallTime = 1;
inline constexpr uint32_t kStep = 2;
inline constexpr uint32_t kFileVersion = 3;
inline constexpr uint32_t kGraphDef = 4;
inline constexpr uint32_t kSummary = 5;
inline constexpr uint32_t kLogMessage = 6;
inline constexpr uint32_t kSessionLog = 7;
inline constexpr uint32_t kTaggedRunMetadata = 8;
inline constexpr uint32_t kMetaGraphDef = 9;
}  // namespace event_field

namespace summary_field {
inline constexpr uint32_t kValue = 1;
}  // namespace summary_field

namespace value_field {
inline constexpr uint32_t kTag = 1;
inline constexpr uint32_t kSimpleValue = 2;
inline constexpr uint32_t kOldHistogram = 3;
inline constexpr uint32_t kImage = 4;
inline constexpr uint32_t kHistogram = 5;
inline constexpr uint32_t kAudio = 6;
inline constexpr uint32_t kTensor = 8;
inline constexpr uint32_t kMetadata = 9;
}  // namespace value_field

namespace tensor_field {
inline constexpr uint32_t kDtype = 1;
inline constexpr uint32_t kShape = 2;
inline constexpr uint32_t kContent = 4;
inline constexpr uint32_t kFloats = 5;
inline constexpr uint32_t kDoubles = 6;
inline constexpr uint32_t kInts = 7;
inline constexpr uint32_t kStrings = 8;
inline constexpr uint32_t kComplexFloats = 9;
inline constexpr uint32_t kInt64s = 10;
inline constexpr uint32_t kBools = 11;
inline constexpr uint32_t kComplexDoubles = 12;
inline constexpr uint32_t kHalves = 13;
}  // namespace tensor_field

namespace shape_field {
inline constexpr uint32_t kDim = 2;
inline constexpr uint32_t kUnknownRank = 3;
}  // namespace shape_field

namespace dim_field {
inline constexpr uint32_t kSize = 1;
inline constexpr uint32_t kName = 2;
}  // namespace dim_field

namespace histogram_field {
inline constexpr uint32_t kMin = 1;
inline constexpr uint32_t kMax = 2;
inline constexpr uint32_t kNum = 3;
inline constexpr uint32_t kSum = 4;
inline constexpr uint32_t kSumSquares = 5;
inline constexpr uint32_t kBucketLimit = 6;
inline constexpr uint32_t kBucket = 7;
}  // namespace histogram_field

namespace metadata_field {
inline constexpr uint32_t kPlugin = 1;
}  // namespace metadata_field

namespace plugin_field {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kContent = 2;
}  // namespace plugin_field

}  // namespace smdebug::format

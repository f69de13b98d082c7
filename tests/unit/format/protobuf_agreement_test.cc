// Records as written and read here against protobuf-c, which knows the same schema.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "format/event.pb-c.h"
#include "format/event_reader.h"
#include "format/event_writer.h"
#include "format/golden_records.h"
#include "format/records.h"

namespace smdebug::format::testing::protobuf_agreement_test {
namespace {

struct FreeEvent {
  void operator()(Smdebug__Format__Event *event) const {
    smdebug__format__event__free_unpacked(event, nullptr);
  }
};
using UnpackedEvent = std::unique_ptr<Smdebug__Format__Event, FreeEvent>;

UnpackedEvent Unpack(std::string_view payload) {
  return UnpackedEvent(smdebug__format__event__unpack(
      nullptr, payload.size(), reinterpret_cast<const uint8_t *>(payload.data())));
}

std::string_view Text(const ProtobufCBinaryData &bytes) {
  return {reinterpret_cast<const char *>(bytes.data), bytes.len};
}

// The tensors of an event, as far as protobuf-c sees them.
std::vector<const Smdebug__Format__Summary__Value *> TensorsOf(
    const Smdebug__Format__Event &event) {
  std::vector<const Smdebug__Format__Summary__Value *> tensors;
  if (event.what_case != SMDEBUG__FORMAT__EVENT__WHAT_SUMMARY) return tensors;
  for (size_t i = 0; i < event.summary->n_value; ++i) {
    const Smdebug__Format__Summary__Value *value = event.summary->value[i];
    if (value->value_case == SMDEBUG__FORMAT__SUMMARY__VALUE__VALUE_TENSOR)
      tensors.push_back(value);
  }
  return tensors;
}

std::vector<int64_t> SizesOf(const Smdebug__Format__Shape *shape) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; shape != nullptr && i < shape->n_dim; ++i)
    sizes.push_back(shape->dim[i]->size);
  return sizes;
}

void ExpectSameTensor(const TensorEvent &ours, const Smdebug__Format__Event &event,
                      const Smdebug__Format__Summary__Value &value) {
  const Smdebug__Format__Tensor &tensor = *value.tensor;
  EXPECT_EQ(ours.name, Text(value.tag));
  EXPECT_EQ(ours.context.step, event.step);
  EXPECT_EQ(std::memcmp(&ours.context.wall_time, &event.wall_time, sizeof event.wall_time), 0);
  EXPECT_EQ(tensor::DTypeFromFile(tensor.dtype), ours.dtype);
  if (tensor.tensor_shape != nullptr) {
    EXPECT_EQ(ours.shape, SizesOf(tensor.tensor_shape));
  }
  if (ours.converted.empty()) {
    EXPECT_EQ(AsText(ours.content), Text(tensor.tensor_content));
  }
  ASSERT_EQ(ours.strings.size(), tensor.n_string_val);
  for (size_t i = 0; i < tensor.n_string_val; ++i) {
    EXPECT_EQ(ours.strings[i], Text(tensor.string_val[i]));
  }
  const size_t typed = tensor.n_float_val + tensor.n_double_val + tensor.n_int_val +
                       tensor.n_scomplex_val + tensor.n_int64_val + tensor.n_bool_val +
                       tensor.n_dcomplex_val + tensor.n_half_val;
  EXPECT_EQ(typed != 0, !ours.converted.empty());
}

// What was read must be what protobuf-c reads; refusing more than it does is right.
// Returns whether a tensor was read.
bool ExpectAgreement(const std::string &payload) {
  const std::string record = Framed(payload);
  const auto parsed = ParseWhole(record);
  const auto located = LocatePayload(AsBytes(record), record.size());
  if (!parsed.IsOk()) {
    EXPECT_EQ(parsed.GetStatus().GetCode(), Code::kCorruptData);
    return false;
  }
  EXPECT_TRUE(located.IsOk());
  const UnpackedEvent event = Unpack(payload);
  if (!parsed->has_value()) {
    EXPECT_TRUE(event == nullptr || TensorsOf(*event).empty());
    return false;
  }
  EXPECT_NE(event, nullptr);
  if (event == nullptr) return false;
  const auto tensors = TensorsOf(*event);
  EXPECT_EQ(tensors.size(), 1U);
  if (tensors.size() == 1) ExpectSameTensor(**parsed, *event, *tensors.front());
  if (located.IsOk() && located->has_value()) {
    EXPECT_EQ(record.substr((*located)->offset, (*located)->size), AsText((*parsed)->content));
  }
  return true;
}

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  std::string Do(std::string bytes) {
    const size_t times = 1 + Below(3);
    for (size_t i = 0; i < times; ++i) DoOnce(&bytes);
    return bytes;
  }
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

 private:
  void DoOnce(std::string *bytes) {
    const size_t at = Below(bytes->size());
    const size_t size = Below(12);
    switch (Below(6)) {
      case 0: bytes->insert(at, 1, static_cast<char>(random_())); break;
      case 1: bytes->erase(at, size); break;
      case 2: bytes->insert(at, bytes->substr(Below(bytes->size()), size)); break;
      case 3: bytes->resize(at); break;
      default:
        if (bytes->empty()) break;
        (*bytes)[at] = static_cast<char>(Below(2) == 0 ? Below(256)
                                                       : static_cast<uint8_t>((*bytes)[at]) ^
                                                             (size_t{1} << Below(8)));
    }
  }

  std::mt19937_64 random_;
};

std::vector<std::string> Seeds() {
  std::vector<std::string> payloads;
  for (const GoldenRecord &golden : GoldenRecords()) payloads.push_back(PayloadOf(golden.record));
  // What the original does not write, too.
  const std::string floats = Number(1, 1) + Shape({2});
  for (const std::string &record :
       {TensorRecord(floats + Bytes(5, "12345678")), TensorRecord(Number(7, 1) + Number(7, 2)),
        TensorRecord(Number(1, 3) + Shape({2}) + Bytes(7, Varint(300) + Varint(~uint64_t{0}))),
        TensorRecord(Number(1, 9) + Shape({1}) + Number(10, 5) + Number(99, 5)),
        TensorRecord(Number(1, 19) + Shape({1}) + Number(13, 5))}) {
    payloads.push_back(PayloadOf(record));
  }
  return payloads;
}

TEST(ProtobufAgreementTest, UndamagedSeedsAgree) {
  for (const GoldenRecord &golden : GoldenRecords()) {
    EXPECT_TRUE(ExpectAgreement(PayloadOf(golden.record))) << golden.label;
  }
}

TEST(ProtobufAgreementTest, DamagedRecordsAgree) {
  Damage damage(2026);
  const std::vector<std::string> seeds = Seeds();
  size_t read = 0;
  constexpr size_t kRounds = 60000;
  for (size_t round = 0; round < kRounds; ++round) {
    const std::string payload = damage.Do(seeds[round % seeds.size()]);
    if (ExpectAgreement(payload)) ++read;
    if (HasFailure()) FAIL() << "round " << round;
  }
  // Else the damage is such that nothing is compared, or that nothing is damaged.
  EXPECT_GT(read, kRounds / 50);
  EXPECT_LT(read, kRounds / 2);
}

// A record that is wholly protobuf but put together at random.
TEST(ProtobufAgreementTest, RandomStructuresAgree) {
  Damage random(7);
  const std::vector<std::string> values = {
      "", "x", "mode", "mode_step", "4", "12345678", Varint(1) + Varint(2)};
  const auto field = [&](size_t max_number) {
    const auto number = static_cast<uint32_t>(1 + random.Below(max_number));
    const std::string &value = values[random.Below(values.size())];
    return random.Below(3) == 0 ? Number(number, random.Below(10)) : Bytes(number, value);
  };
  size_t read = 0;
  for (int round = 0; round < 60000; ++round) {
    std::string shape;
    for (size_t i = random.Below(3); i > 0; --i) shape += Bytes(2, Number(1, random.Below(4)));
    std::string tensor = Number(1, random.Below(12));
    if (random.Below(3) != 0) tensor += Bytes(2, shape);
    if (random.Below(2) != 0) tensor += Bytes(4, values[5]);
    for (size_t i = random.Below(3); i > 0; --i) tensor += field(14);
    std::string value = Bytes(1, "x") + Bytes(8, tensor);
    if (random.Below(4) == 0) value += field(10);
    if (random.Below(4) == 0) value = Bytes(9, Bytes(1, field(2) + field(2))) + value;
    std::string event = Number(2, random.Below(300)) + Bytes(5, Bytes(1, value));
    if (random.Below(4) == 0) event += field(10);
    if (ExpectAgreement(event)) ++read;
    if (HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(read, 500U);
}

std::string EncodedRecord(const std::string &name, const OwnedView &owned,
                          const EventContext &context) {
  EncodedEvent event;
  const Status status = EncodeTensorEvent(name, owned.View(), context, Checksum::kConstant, &event);
  EXPECT_TRUE(status.IsOk()) << status.Message();
  return event.head + owned.Data() + event.tail;
}

// Protobuf-c reads the event and writes the same bytes again: no length is wrong, nothing
// is left out or superfluous, and the order is the canonical one.
void ExpectCanonical(const std::string &record) {
  const std::string payload = PayloadOf(record);
  const UnpackedEvent event = Unpack(payload);
  ASSERT_NE(event, nullptr);
  std::string packed(smdebug__format__event__get_packed_size(event.get()), '\0');
  smdebug__format__event__pack(event.get(), reinterpret_cast<uint8_t *>(packed.data()));
  EXPECT_EQ(packed, payload);
}

TEST(ProtobufAgreementTest, PacksTheSameBytes) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> shape(below(6));
    size_t count = 1;
    for (int64_t &size : shape) {
      size = static_cast<int64_t>(below(round % 7 == 0 ? 150 : 4));
      count *= static_cast<size_t>(size);
      if (count > 100000) {
        size = 0;
        count = 0;
      }
    }
    const std::string name(below(300), 'n');
    const EventContext context{static_cast<int64_t>(random() >> below(64) >> 1), Mode::kEval,
                               static_cast<int64_t>(random() >> below(64) >> 1),
                               static_cast<double>(below(3))};
    ExpectCanonical(
        EncodedRecord(name, OwnedView(DType::kInt16, shape, std::string(2 * count, 'p')), context));
    std::vector<std::string> strings(count % 10);
    for (std::string &text : strings) text.assign(below(300), 't');
    ExpectCanonical(EncodedRecord(
        name, OwnedView(DType::kString, {static_cast<int64_t>(strings.size())}, "", strings),
        context));
  }
}

}  // namespace
}  // namespace smdebug::format::testing::protobuf_agreement_test

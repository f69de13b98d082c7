#include "tables/tensor_stream.h"

#include <algorithm>
#include <cmath>

#include "analyze/trial.h"
#include "base/strings.h"
#include "tables/batch_builder.h"
#include "tables/step_rows.h"
#include "tensor/blocks.h"

namespace smdebug::tables {
namespace {

// The columns, by their position in ColumnsOf().
enum TensorColumn : size_t {
  kTrial,
  kTensor,
  kCollection,
  kStep,
  kMode,
  kModeStep,
  kWorker,
  kDType,
  kShape,
  kFirstStatistic,
  kTime = kFirstStatistic + kStatistics,
  kValue,
  kBytes,
};
enum ScalarColumn : size_t { kScalarValue = kWorker + 1, kScalarTime };

constexpr double kMicroseconds = 1e6;
// The largest time that fits, some 290,000 years.
constexpr double kMostSeconds = 9e12;

// A batch ends when its memory exceeds this.
constexpr size_t kMostBytes = size_t{32} << 20;
// The number of files at a time whose elements are read.
constexpr size_t kFilesOfElements = 8;

Reads ReadsFor(const Request &request) {
  Reads reads;
  reads.computes = request.computes;
  for (const size_t column : request.Columns()) {
    if (request.table == Table::kScalars) {
      reads.elements = reads.elements || column == kScalarValue;
      reads.time = reads.time || column == kScalarTime;
      continue;
    }
    if (column >= kFirstStatistic && column < kTime) {
      reads.statistics |= 1U << (column - kFirstStatistic);
    }
    reads.time = reads.time || column == kTime;
    reads.type = reads.type || column == kDType || column == kShape;
    reads.elements = reads.elements || column == kValue || column == kBytes;
  }
  // Whether it has one element shows in the record alone.
  if (request.table == Table::kScalars) reads.elements = true;
  return reads;
}

void AddNumbers(const format::TensorEvent &event, Column *column) {
  const bool is_list = event.dtype != tensor::DType::kString && !tensor::IsComplex(event.dtype);
  const size_t size = tensor::DTypeSize(event.dtype);
  if (!is_list || !column->Fits(event.content.size() / size)) return column->AddNulls();
  std::vector<double> numbers;
  numbers.reserve(event.content.size() / size);
  const tensor::View view{event.content.data(), event.shape, {}, event.dtype};
  tensor::ForEachNumberBlock(view, tensor::Part::kWhole, [&](auto &block) {
    const auto *elements = block.Numbers();
    numbers.insert(numbers.end(), elements, elements + block.Count());
  });
  column->AddList(std::span<const double>(numbers));
}

void AddTime(std::optional<double> seconds, Column *column) {
  const bool is_time = seconds && std::abs(*seconds) < kMostSeconds;
  if (!is_time) return column->AddNulls();
  column->AddIntegers(static_cast<int64_t>(std::llround(*seconds * kMicroseconds)));
}

void AddOptional(std::string_view text, Column *column) {
  if (text.empty()) return column->AddNulls();
  column->AddTexts(text);
}

// Fills the columns that a request names with rows.
class RowWriter {
 public:
  RowWriter(const Request &request, BatchBuilder *builder)
      : is_scalars_(request.table == Table::kScalars),
        columns_(request.Columns()),
        builder_(builder) {}

  void Write(const std::string &trial, const StepRows &rows, std::span<const StepRow> some) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      WriteColumn(columns_[i], trial, rows, some, &builder_->At(i));
    }
    builder_->NoteRows(some.size());
  }

 private:
  void WriteColumn(size_t column, const std::string &trial, const StepRows &rows,
                   std::span<const StepRow> some, Column *out) {
    switch (column) {
      case kTrial: return out->AddTexts(trial, some.size());
      case kStep: return out->AddIntegers(rows.file->step, some.size());
      case kMode: return out->AddTexts(ModeName(rows.mode), some.size());
      case kModeStep: return out->AddIntegers(rows.mode_step, some.size());
      case kWorker: return out->AddTexts(rows.file->worker, some.size());
      default: break;
    }
    for (const StepRow &row : some) {
      if (column == kTensor) {
        out->AddTexts(row.tensor->name);
      } else if (column == kCollection) {
        AddOptional(row.tensor->collection, out);
      } else if (is_scalars_) {
        WriteScalar(column, row, out);
      } else {
        WriteOfTensor(column, row, out);
      }
    }
  }

  static void WriteScalar(size_t column, const StepRow &row, Column *out) {
    if (column == kScalarTime) return AddTime(row.time, out);
    const format::TensorEvent &event = *row.elements;
    if (tensor::IsComplex(event.dtype)) return out->AddNulls();  // as its "value" of "tensors"
    const auto number =
        tensor::ToDouble(tensor::Value::CopyOf(event.dtype, event.content, event.shape));
    number.IsOk() ? out->AddNumber(*number) : out->AddNulls();
  }

  static void WriteOfTensor(size_t column, const StepRow &row, Column *out) {
    if (column >= kFirstStatistic && column < kTime) {
      const size_t statistic = column - kFirstStatistic;
      const bool is_given = (row.given >> statistic & 1) != 0;
      return is_given ? out->AddNumber(row.statistics[statistic]) : out->AddNulls();
    }
    switch (column) {
      case kDType: return AddOptional(tensor::DTypeName(DTypeOf(row)), out);
      case kShape: return WriteShape(row, out);
      case kTime: return AddTime(row.time, out);
      case kValue: return row.elements ? AddNumbers(*row.elements, out) : out->AddNulls();
      default: return WriteBytes(row, out);
    }
  }

  static tensor::DType DTypeOf(const StepRow &row) {
    if (row.elements) return row.elements->dtype;
    return row.head ? row.head->dtype : tensor::DType::kInvalid;
  }

  static void WriteShape(const StepRow &row, Column *out) {
    if (row.saved_shape != nullptr) return out->AddList(row.saved_shape->shape);
    if (!row.raw.empty() && row.raw.front()->part)
      return out->AddList(row.raw.front()->part->shape);
    if (row.elements) return out->AddList(row.elements->shape);
    row.head ? out->AddList(row.head->shape) : out->AddNulls();
  }

  static void WriteBytes(const StepRow &row, Column *out) {
    const bool has_bytes = row.elements && row.elements->dtype != tensor::DType::kString;
    const bool fits = has_bytes && out->Fits(row.elements->content.size());
    fits ? out->AddTexts(AsText(row.elements->content)) : out->AddNulls();
  }

  const bool is_scalars_;
  const std::vector<size_t> columns_;
  BatchBuilder *const builder_;
};

// One trial while its rows are read.
class TrialRows {
 public:
  static Result<std::unique_ptr<TrialRows>> Open(std::shared_ptr<const Request> request,
                                                 const FoundTrial &trial) {
    SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::Store> store,
                         storage::OpenStore(trial.path, request->store_options, request->logger));
    std::unique_ptr<TrialRows> rows(new TrialRows(std::move(request), trial, std::move(store)));
    SMD_RETURN_IF_ERROR(rows->Begin());
    return rows;
  }

  bool IsAtEnd() const { return next_ >= files_.size(); }

  // Reads a few files.
  Status Read(RowWriter *writer) {
    const bool is_large = request_->table == Table::kTensors && ReadsFor(*request_).NeedsElements();
    const size_t at_once =
        is_large ? std::min(reader_->AtOnce(), kFilesOfElements) : reader_->AtOnce();
    const size_t count = std::min(at_once, files_.size() - next_);
    const std::span<const StepFile> some = std::span(files_).subspan(next_, count);
    next_ += count;
    return reader_->Read(
        some,
        [&](const StepRows &rows) {
          Visit(rows, writer);
          return Status::Ok();
        },
        [this](const Status &damage) {
          if (request_->fails_on_damage) return damage;
          request_->logger.Warning(StrCat(damage.Message(), "; skipped"));
          return Status::Ok();
        });
  }

 private:
  TrialRows(std::shared_ptr<const Request> request, const FoundTrial &trial,
            std::shared_ptr<storage::Store> store)
      : request_(std::move(request)), trial_(trial), store_(std::move(store)) {}

  Status Begin() {
    SMD_ASSIGN_OR_RETURN(files_, ListStepFiles(*store_, request_->steps, request_->workers));
    SMD_RETURN_IF_ERROR(LoadCollections());
    const std::shared_ptr<const config::CollectionSet> collections =
        known_ ? std::shared_ptr<const config::CollectionSet>(known_, &known_->Collections())
               : nullptr;
    reader_ = std::make_unique<StepRowReader>(store_,
                                              std::make_shared<TensorNames>(*request_, collections),
                                              ReadsFor(*request_), request_->modes);
    if (request_->table == Table::kScalars) reader_->OnlyScalars();
    return Status::Ok();
  }

  // Without collections files, as in a trial that is just beginning, there are none.
  Status LoadCollections() {
    const std::vector<size_t> columns = request_->Columns();
    const bool is_shown =
        std::find(columns.begin(), columns.end(), size_t{kCollection}) != columns.end();
    if (files_.empty() || (!is_shown && request_->collection.empty())) return Status::Ok();
    SMD_ASSIGN_OR_RETURN(analyze::TrialOptions options, analyze::TrialOptions::FromEnvironment());
    options.wait = {};
    options.store = store_;
    options.store_options = request_->store_options;
    options.logger = request_->logger;
    SMD_ASSIGN_OR_RETURN(known_, analyze::Trial::Make(trial_.path, std::move(options)));
    const Status loaded = known_->Load();
    if (loaded.IsOk() || loaded.GetCode() == Code::kMissingCollections) return Status::Ok();
    if (request_->fails_on_damage) return loaded;
    request_->logger.Warning(StrCat(loaded.Message(), "; its tensors are in no collection"));
    return Status::Ok();
  }

  void Visit(const StepRows &rows, RowWriter *writer) {
    if (request_->table != Table::kScalars) return writer->Write(trial_.name, rows, rows.rows);
    const auto is_one = [](const StepRow &row) {
      return row.elements && row.elements->dtype != tensor::DType::kString &&
             row.elements->content.size() == tensor::DTypeSize(row.elements->dtype);
    };
    for (StepRow &row : rows.rows) {
      if (is_one(row)) writer->Write(trial_.name, rows, {&row, 1});
    }
  }

  const std::shared_ptr<const Request> request_;
  const FoundTrial trial_;
  const std::shared_ptr<storage::Store> store_;
  std::shared_ptr<analyze::Trial> known_;  // for its collections
  std::vector<StepFile> files_;
  size_t next_ = 0;
  std::unique_ptr<StepRowReader> reader_;
};

class TensorStream final : public BatchStream {
 public:
  TensorStream(std::shared_ptr<const Request> request, std::vector<FoundTrial> trials)
      : request_(std::move(request)),
        trials_(std::move(trials)),
        builder_(*request_),
        writer_(*request_, &builder_) {}

  const std::vector<ColumnSpec> &Schema() const override { return builder_.Schema(); }

  Result<std::optional<Batch>> Next() override {
    const auto most = static_cast<size_t>(request_->batch_rows);
    while (builder_.Rows() < most && builder_.Size() < kMostBytes) {
      if (open_ == nullptr || open_->IsAtEnd()) {
        if (next_ == trials_.size()) break;
        SMD_RETURN_IF_ERROR(OpenNext());
        continue;
      }
      SMD_RETURN_IF_ERROR(open_->Read(&writer_));
    }
    if (builder_.Rows() == 0) return std::optional<Batch>();
    return std::optional<Batch>(builder_.Take());
  }

 private:
  Status OpenNext() {
    auto opened = TrialRows::Open(request_, trials_[next_++]);
    if (opened.IsOk()) {
      open_ = *std::move(opened);
      return Status::Ok();
    }
    open_ = nullptr;
    if (request_->fails_on_damage) return opened.GetStatus();
    request_->logger.Warning(StrCat(opened.GetStatus().Message(), "; skipped"));
    return Status::Ok();
  }

  const std::shared_ptr<const Request> request_;
  const std::vector<FoundTrial> trials_;
  size_t next_ = 0;
  BatchBuilder builder_;
  RowWriter writer_;
  std::unique_ptr<TrialRows> open_;
};

}  // namespace

std::unique_ptr<BatchStream> StreamTensors(std::shared_ptr<const Request> request,
                                           std::vector<FoundTrial> trials) {
  return std::make_unique<TensorStream>(std::move(request), std::move(trials));
}

}  // namespace smdebug::tables

// Folders with trials, for the tests of tables/.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/trial_files.h"
#include "storage/memory_store.h"
#include "storage/temporary_folder.h"
#include "tables/scan.h"

namespace smdebug::tables {

// A folder of trials on the real file system.
class Runs {
 public:
  const std::string &Path() const { return folder_.Path(); }
  const storage::TemporaryFolder &Folder() const { return folder_; }

  // Writes what `fill(store)` puts into a trial.
  template <class Fill>
  void Put(const std::string &trial, Fill fill) const {
    storage::MemoryStore store;
    fill(store);
    for (const auto &[name, text] : store.Files()) folder_.Write(trial + "/" + name, text);
  }

  // A trial with steps 0 to `steps` - 1 of tensors "gradient/w" and "a", and a scalar "loss".
  void PutTrial(const std::string &trial, int steps, const std::string &worker = "worker_0",
                int first = 0) const {
    Put(trial, [&](storage::MemoryStore &store) {
      analyze::PutCollections(store, 1, worker);
      for (int step = first; step < first + steps; ++step) {
        const auto number = static_cast<float>(step);
        analyze::StepFiles(step, Mode::kTrain, step, worker)
            .Add("gradient/w", {number, number + 1, number + 2, number + 3})
            .Add("smdebug/reductions/mean/a", {number})
            .Add("loss", {number / 2})
            .Put(store);
      }
    });
  }

 private:
  storage::TemporaryFolder folder_;
};

// The rows of a scan as texts, with "|" between the columns and "-" for nulls.
class Rows {
 public:
  // Options are names and values in turn.
  static std::shared_ptr<Request> RequestFor(Table table, const std::string &path,
                                             const std::vector<std::string> &options,
                                             std::vector<std::string> *log = nullptr) {
    auto request = std::make_shared<Request>(table);
    request->logger = Logger(LogLevel::kDebug, [log](LogLevel, const std::string &line) {
      if (log != nullptr) log->push_back(line);
    });
    EXPECT_TRUE(request->Add("path", path).IsOk());
    for (size_t i = 0; i + 1 < options.size(); i += 2) {
      const Status added = request->Add(options[i], options[i + 1]);
      EXPECT_TRUE(added.IsOk()) << added.Message();
    }
    return request;
  }

  static Result<std::vector<std::string>> Of(std::shared_ptr<const Request> request) {
    SMD_ASSIGN_OR_RETURN(const auto stream, OpenScan(std::move(request)));
    std::vector<std::string> rows;
    while (true) {
      SMD_ASSIGN_OR_RETURN(const auto batch, stream->Next());
      if (!batch) return rows;
      EXPECT_GT(batch->rows, 0U);
      for (size_t row = 0; row < batch->rows; ++row) rows.push_back(RowOf(*batch, row));
    }
  }

  static std::vector<std::string> Of(Table table, const std::string &path,
                                     const std::vector<std::string> &options,
                                     std::vector<std::string> *log = nullptr) {
    const auto rows = Of(RequestFor(table, path, options, log));
    EXPECT_TRUE(rows.IsOk()) << rows.GetStatus().Message();
    return rows.IsOk() ? *rows : std::vector<std::string>();
  }

 private:
  template <class T>
  static T At(const void *data, size_t index) {
    T element;
    std::memcpy(&element, static_cast<const char *>(data) + index * sizeof(T), sizeof element);
    return element;
  }
  static std::string Short(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
  }

  static std::string CellOf(const Column &column, size_t row) {
    const auto &validity = column.Validity();
    if (!validity.empty() && (validity[row / 8] >> (row % 8) & 1) == 0) return "-";
    const void *data = column.Data();
    switch (column.Type()) {
      case ColumnType::kInteger:
      case ColumnType::kTime: return std::to_string(At<int64_t>(data, row));
      case ColumnType::kNumber: return Short(At<double>(data, row));
      default: break;
    }
    const auto begin = static_cast<size_t>(column.Offsets()[row]);
    const auto end = static_cast<size_t>(column.Offsets()[row + 1]);
    if (column.Type() == ColumnType::kText) {
      return {static_cast<const char *>(data) + begin, end - begin};
    }
    if (column.Type() == ColumnType::kBytes) return std::to_string(end - begin) + " bytes";
    std::string text;
    for (size_t i = begin; i < end; ++i) {
      text += text.empty() ? "[" : ",";
      text += column.Type() == ColumnType::kIntegers ? std::to_string(At<int64_t>(data, i))
                                                     : Short(At<double>(data, i));
    }
    return text.empty() ? "[]" : text + "]";
  }

  static std::string RowOf(const Batch &batch, size_t row) {
    std::string text;
    for (const Column &column : batch.columns) {
      EXPECT_EQ(column.Rows(), batch.rows);
      text += (text.empty() ? "" : "|") + CellOf(column, row);
    }
    return text;
  }
};

}  // namespace smdebug::tables

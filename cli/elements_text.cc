// Prints elements in brackets and columns.
#include <algorithm>

#include "elements.h"
#include "output.h"
#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kMostInFull = 200;  // elements
constexpr int64_t kEnds = 3;         // elements shown at each end of a long dimension
constexpr size_t kWidthInPipes = 80;

class Layout {
 public:
  Layout(const Value &value, bool all)
      : reader_(value), shape_(value.Shape()), is_cut_(!all && reader_.Size() > kMostInFull) {
    ForEachShown(0, 0,
                 [this](size_t index) { width_ = std::max(width_, WidthOf(reader_.Text(index))); });
  }

  std::string Text() {
    if (shape_.empty()) return reader_.Text(0) + "\n";
    Nest(0, 0);
    return std::move(out_) + "\n";
  }

 private:
  bool IsLeftOut(size_t depth, int64_t i) const {
    return is_cut_ && shape_[depth] > 2 * kEnds && i >= kEnds && i < shape_[depth] - kEnds;
  }

  template <class Do>
  void ForEachShown(size_t depth, size_t base, const Do &act) {
    if (depth == shape_.size()) return act(base);
    for (int64_t i = 0; i < shape_[depth]; ++i) {
      if (!IsLeftOut(depth, i)) ForEachShown(depth + 1, Inside(depth, base, i), act);
    }
  }

  size_t Inside(size_t depth, size_t base, int64_t i) const {
    return base * static_cast<size_t>(shape_[depth]) + static_cast<size_t>(i);
  }

  void Nest(size_t depth, size_t base) {
    const bool is_row = depth + 1 == shape_.size();
    out_ += '[';
    column_ = depth + 1;
    for (int64_t i = 0; i < shape_[depth]; ++i) {
      const bool is_gap = IsLeftOut(depth, i);
      if (is_gap) i = shape_[depth] - kEnds - 1;
      if (is_row) {
        Item(is_gap ? "..." : Padded(reader_.Text(Inside(depth, base, i)), width_, true), depth);
      } else {
        if (i > 0) Break(depth);
        if (is_gap) {
          out_ += "...";
        } else {
          Nest(depth + 1, Inside(depth, base, i));
        }
      }
    }
    out_ += ']';
  }

  void Break(size_t depth) {
    out_ += "\n" + std::string(depth + 1, ' ');
    column_ = depth + 1;
  }

  void Item(const std::string &text, size_t depth) {
    const size_t limit = Stdout().width > 0 ? Stdout().width : kWidthInPipes;
    const size_t length = WidthOf(text);
    const bool is_first = column_ == depth + 1;
    if (!is_first && column_ + 1 + length + shape_.size() > limit) {
      Break(depth);
    } else if (!is_first) {
      out_ += ' ';
      ++column_;
    }
    out_ += text;
    column_ += length;
  }

  const ElementReader reader_;
  const std::vector<int64_t> shape_;
  const bool is_cut_;
  size_t width_ = 0;   // characters of each element
  size_t column_ = 0;  // characters on the line so far
  std::string out_;
};

}  // namespace

std::string ElementsText(const Value &value, bool all) { return Layout(value, all).Text(); }

}  // namespace smdebug::cli

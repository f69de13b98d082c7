#include "rules/panel.h"

#include <algorithm>
#include <list>

#include "base/strings.h"

namespace smdebug::rules {
namespace {

// A job that invents a new name at every step must not fill the memory.
constexpr size_t kMostNames = 200'000;

// A sample and its estimates, one of each size.
class Estimates {
 public:
  explicit Estimates(const Sample &sample) : sample_(sample) {}

  const Sample &Of(int64_t most) {
    const tensor::View *elements = sample_.RealElements();
    if (most == 0 || elements == nullptr || elements->ElementCount() <= most) return sample_;
    const auto known = std::find_if(estimates_.begin(), estimates_.end(),
                                    [most](const auto &each) { return each.first == most; });
    if (known != estimates_.end()) return known->second;
    return estimates_.emplace_back(most, sample_.Estimated(most)).second;
  }

 private:
  const Sample &sample_;
  std::list<std::pair<int64_t, Sample>> estimates_;
};

}  // namespace

void Panel::Add(std::unique_ptr<Detector> detector, Action action) {
  seats_.push_back({std::move(detector), action, false, false, 0, {}});
  names_.clear();
}

const std::vector<size_t> &Panel::SeatsFor(std::string_view tensor, const Membership &membership) {
  if (const auto known = names_.find(tensor); known != names_.end()) return known->second;
  std::vector<size_t> wanting;
  for (size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].detector->Wants(tensor, membership)) wanting.push_back(i);
  }
  if (names_.size() >= kMostNames) names_.clear();
  return names_.emplace(std::string(tensor), std::move(wanting)).first->second;
}

bool Panel::Wants(std::string_view tensor, const Membership &membership) {
  return !SeatsFor(tensor, membership).empty();
}

void Panel::Observe(const Sample &sample, const Membership &membership) {
  if (open_.empty()) open_.assign(seats_.size(), Findings(sample.Place()));
  Estimates estimates(sample);
  for (const size_t seat : SeatsFor(sample.Tensor(), membership)) {
    seats_[seat].has_seen_tensor = true;
    if (seats_[seat].has_ended) continue;
    Detector &detector = *seats_[seat].detector;
    detector.Observe(estimates.Of(detector.SampleSize()), open_[seat]);
  }
}

std::vector<Verdict> Panel::EndStep(const StepPlace &place) {
  if (open_.empty()) open_.assign(seats_.size(), Findings(place));
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].has_ended) continue;
    open_[i].NoteWallSeconds(place.wall_seconds);
    seats_[i].detector->EndStep(open_[i]);
    Note(seats_[i], open_[i], &verdicts);
  }
  open_.clear();
  last_place_ = place;
  return verdicts;
}

void Panel::PassStep(const StepPlace &place) {
  if (open_.empty()) open_.assign(seats_.size(), Findings(place));
  for (size_t i = 0; i < seats_.size(); ++i) {
    if (!seats_[i].has_ended) seats_[i].detector->EndStep(open_[i]);
  }
  open_.clear();
  last_place_ = place;
}

bool Panel::NeedsTimes() const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [](const Seat &seat) { return seat.detector->NeedsTimes(); });
}

std::vector<Verdict> Panel::NoteTime(double wall_seconds) {
  std::vector<Verdict> verdicts;
  for (Seat &seat : seats_) {
    if (seat.has_ended) continue;
    Findings findings(last_place_);
    seat.detector->NoteTime(wall_seconds, findings);
    Note(seat, findings, &verdicts);
  }
  return verdicts;
}

void Panel::Note(Seat &seat, Findings &findings, std::vector<Verdict> *out) {
  for (Verdict &verdict : findings.Verdicts()) {
    verdict.rule = seat.detector->Rule();
    verdict.action = std::max(verdict.action, seat.action);
    if (seat.findings++ == 0) seat.first = verdict;
    seat.has_ended = seat.has_ended || verdict.ends_rule;
    out->push_back(std::move(verdict));
  }
}

std::vector<Verdict> Panel::Outcomes() const {
  std::vector<Verdict> outcomes;
  for (const Seat &seat : seats_) {
    Verdict outcome;
    outcome.rule = seat.detector->Rule();
    if (seat.findings > 0) {
      outcome = seat.first;
      outcome.message =
          StrCat(seat.findings,
                 seat.findings == 1 ? " finding: " : " findings, first: ", seat.first.message);
    } else if (!seat.has_seen_tensor && !seat.detector->NeedsTimes()) {
      outcome.status = VerdictStatus::kNoTensor;
      outcome.message = "no tensor is one of those that this rule looks at";
    } else if (!seat.detector->HasJudged()) {
      outcome.status = VerdictStatus::kNotEnoughData;
      outcome.message = StrCat("not enough data: it needs ", seat.detector->Missing());
    } else {
      outcome.message = "nothing found";
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace smdebug::rules

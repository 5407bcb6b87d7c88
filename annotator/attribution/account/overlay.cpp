#include "annotator/attribution/account/overlay.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace hotlens::attribution {
namespace {

struct Offer {
  const Piece* piece = nullptr;
  std::size_t worker = 0;
};

bool stands_in(const Piece& piece) {
  return piece.owner.stage == Stage::backward || piece.owner.stage == Stage::forward;
}

// What the workers offer, by start.
std::vector<Offer> offers(const std::vector<std::vector<Piece>>& workers) {
  std::vector<Offer> all;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    for (const Piece& piece : workers[worker]) {
      if (stands_in(piece)) all.push_back({&piece, worker});
    }
  }
  if (workers.size() > 1) std::ranges::stable_sort(all, {}, [](const Offer& offer) { return offer.piece->start; });
  return all;
}

Piece part(Piece piece, Ns start, Ns end) {
  piece.start = start;
  piece.end = end;
  return piece;
}

Piece lent(const Piece& piece, Ns start, Ns end) {
  Piece result = part(piece, start, end);
  result.idle = false;
  result.lent = true;
  return result;
}

// Goes once through the offers in order of time.
class Overlay {
 public:
  explicit Overlay(const std::vector<std::vector<Piece>>& workers) : offers_(offers(workers)), next_(offers_.begin()) {}

  // Appends the idle piece `gap`, or what stands for it.
  void fill(const Piece& gap, std::vector<Piece>& wall) {
    for (Ns at = gap.start; at < gap.end;) {
      take_started(at);
      const Ns coming = next_ == offers_.end() ? gap.end : std::min(next_->piece->start, gap.end);
      if (open_.empty()) {
        wall.push_back(part(gap, at, coming));
        at = coming;
        continue;
      }
      const Offer chosen = open_.top();
      const Ns until = std::min(chosen.piece->end, gap.end);
      const Ns stop = interruption(chosen, until);
      wall.push_back(lent(*chosen.piece, at, stop));
      at = stop;
    }
  }

 private:
  // Offers that began by `when` are open until they end; what ended is dropped when it would be chosen.
  void take_started(Ns when) {
    for (; next_ != offers_.end() && next_->piece->start <= when; ++next_) open_.push(*next_);
    while (!open_.empty() && open_.top().piece->end <= when) open_.pop();
  }

  // When a worker before the chosen one begins; `until` where none does.
  Ns interruption(const Offer& chosen, Ns until) {
    for (; next_ != offers_.end() && next_->piece->start < until; ++next_) {
      if (next_->worker < chosen.worker) return next_->piece->start;
      open_.push(*next_);
    }
    return until;
  }

  struct LaterWorker {
    bool operator()(const Offer& a, const Offer& b) const {
      return std::pair(a.worker, a.piece->start) > std::pair(b.worker, b.piece->start);
    }
  };

  std::vector<Offer> offers_;
  std::vector<Offer>::const_iterator next_;
  std::priority_queue<Offer, std::vector<Offer>, LaterWorker> open_;
};

}  // namespace

std::vector<Piece> overlaid(const std::vector<Piece>& wall, const std::vector<std::vector<Piece>>& workers) {
  Overlay overlay(workers);
  std::vector<Piece> result;
  for (const Piece& piece : wall) {
    if (piece.idle) {
      overlay.fill(piece, result);
    } else {
      result.push_back(piece);
    }
  }
  return result;
}

}  // namespace hotlens::attribution

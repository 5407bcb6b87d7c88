#include "annotator/lab/structure/loop_edit.h"

#include <algorithm>

#include "annotator/lab/structure/rounds.h"

namespace hotlens::layers {
namespace {

constexpr const char* kLast = "what the last of them hands on is not used, which differs from the others";
constexpr const char* kFirst = "what their loop does with the first is not known";

// One layer of each round: entries of a list, or what is at one place of each of them.
struct Column {
  const Gap* list = nullptr;
  std::string part;  // below the entry
  std::size_t begin = 0, calls = 0;
};

std::size_t place_of(const Gap& list) {
  const auto& entries = list.rounds->entries;
  const auto find = [&](const std::string& path) { return static_cast<std::size_t>(std::ranges::find(entries, path) - entries.begin()); };
  if (!list.removed.empty()) return find(list.removed.front().path);
  return list.before.empty() ? 0 : find(list.before.front().path) + 1;
}

// Each list comes and goes at one place.
bool go_together(const std::vector<Gap>& lists) {
  const Gap& first = lists.front();
  return std::ranges::all_of(lists, [&](const Gap& list) {
    return place_of(list) == place_of(first) && list.removed.size() == first.removed.size() &&
           list.inserted.size() == first.inserted.size();
  });
}

std::vector<Column> columns_of(const lab::Draft& draft, const std::vector<Gap>& lists) {
  std::vector<Column> columns;
  for (const Gap& list : lists) {
    for (const std::string& part : list.rounds->layers) {
      const auto calls = lab::calls_of(draft.program, list.rounds->entries.front() + part);
      if (!calls.empty()) columns.push_back({.list = &list, .part = part, .begin = calls.front().begin, .calls = calls.size()});
    }
  }
  std::ranges::sort(columns, {}, &Column::begin);
  return columns;
}

class LoopEdit {
 public:
  LoopEdit(lab::Draft& draft, Insertion& insertion, const Changes& changes, const std::vector<Gap>& lists)
      : draft_(draft), insertion_(insertion), changes_(changes), first_(lists.front()), columns_(columns_of(draft, lists)) {}

  std::optional<Unclear> run() {
    if (columns_.empty()) return std::nullopt;  // a list that nothing calls
    std::vector<std::vector<std::string>> paths;
    // The last of a longer list is called alone after the loop.
    std::size_t rounds_of_all = first_.rounds->entries.size();
    for (const Column& column : columns_) rounds_of_all = std::min(rounds_of_all, column.list->rounds->entries.size());
    for (std::size_t entry = 0; entry < rounds_of_all; ++entry) {
      auto& layers = paths.emplace_back();
      for (const Column& column : columns_) layers.push_back(column.list->rounds->entries[entry] + column.part);
    }
    for (std::size_t number = columns_.front().calls; number-- > 0;) {
      const auto rounds = lab::rounds_of(draft_, paths, number);
      if (!rounds) return unclear(rounds.error());
      if (auto why = first_.removed.empty() ? insert(*rounds, number) : remove(*rounds)) return why;
    }
    return std::nullopt;
  }

 private:
  Unclear unclear(std::string reason) const {
    const Step& step = first_.inserted.empty() ? first_.removed.front() : first_.inserted.front();
    const auto line = changes_.lines.find(first_.inserted.empty() ? first_.holder : step.path);
    return {.reason = std::move(reason), .module = step.path, .at = line == changes_.lines.end() ? Line{} : line->second};
  }

  std::optional<Unclear> remove(const lab::Rounds& rounds) {
    const std::size_t place = place_of(first_);
    if (place < rounds.first) return unclear(kFirst);
    if (rounds.last_differs && place + first_.removed.size() == first_.rounds->entries.size()) return unclear(kLast);
    const auto done = lab::remove_rounds(draft_, rounds, place - rounds.first, place - rounds.first + first_.removed.size());
    return done ? std::nullopt : std::optional(unclear(done.error()));
  }

  struct Place {
    const lab::Rounds* rounds;
    const lab::Round* example;
    std::size_t layer, number;
  };

  // Of which round a call is that shows what a new layer calls.
  static const lab::Round* round_of(const Place& place, const lab::Call& call) {
    const auto found =
        std::ranges::find_if(place.rounds->all, [&](const lab::Round& round) { return round.calls[place.layer].begin == call.begin; });
    return found == place.rounds->all.end() ? nullptr : &*found;
  }

  std::expected<std::vector<lab::Operator>, Unclear> call(const std::string& path, const Place& place, lab::Ids& ids) {
    const lab::Passing& passing = place.example->passing[place.layer];
    const auto shown = insertion_.example(path, place.number);
    if (const lab::Round* like = shown ? round_of(place, *shown) : nullptr) {
      const lab::Passing& theirs = like->passing[place.layer];
      lab::Ids inside;
      for (std::size_t at = 0; at < std::min(theirs.in.size(), passing.in.size()); ++at)
        inside[theirs.in[at]] = lab::now(ids, passing.in[at]);
      auto operators = insertion_.copy(path, *shown, inside);
      for (std::size_t at = 0; at < std::min(theirs.out.size(), passing.out.size()); ++at) ids[passing.out[at]] = inside.at(theirs.out[at]);
      return operators;
    }
    if (passing.in.size() != 1 || passing.out.size() != 1) return std::unexpected(unclear("it takes or gives more than one tensor"));
    auto called = insertion_.call(path, lab::now(ids, passing.in[0]),
                                  lab::Operator(draft_.program.operators[place.example->calls[place.layer].begin]), place.number);
    if (!called) return std::unexpected(called.error());
    ids[passing.out[0]] = called->out;
    return std::move(called->operators);
  }

  std::optional<Unclear> insert(const lab::Rounds& rounds, std::size_t number) {
    const std::size_t place = place_of(first_);
    if (place <= rounds.first) return unclear(kFirst);
    if (rounds.last_differs && place == first_.rounds->entries.size()) return unclear(kLast);
    std::optional<Unclear> why;
    const auto call = [&](std::size_t round, std::size_t layer, const lab::Round& example, lab::Ids& ids) {
      const Column& column = columns_[layer];
      auto called = this->call(column.list->inserted[round].path + column.part, {&rounds, &example, layer, number}, ids);
      if (!called) why = called.error();
      return called ? std::optional(std::move(*called)) : std::nullopt;
    };
    lab::insert_rounds(draft_, rounds, place - rounds.first - 1, first_.inserted.size(), call);
    return why;
  }

  lab::Draft& draft_;
  Insertion& insertion_;
  const Changes& changes_;
  const Gap& first_;
  std::vector<Column> columns_;
};

}  // namespace

std::optional<Unclear> edit_loop(lab::Draft& draft, Insertion& insertion, const Changes& changes, const std::vector<Gap>& lists) {
  if (lists.empty()) return std::nullopt;
  if (!go_together(lists)) return Unclear{.reason = "lists of one loop come and go differently", .module = lists.front().holder};
  return LoopEdit(draft, insertion, changes, lists).run();
}

}  // namespace hotlens::layers

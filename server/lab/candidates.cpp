#include "server/lab/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "annotator/advice/edits/edits.h"
#include "annotator/common/format.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/lab/second_size.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;

// Where the bundle knows the line of a change.
class Lines {
 public:
  explicit Lines(const fs::path& bundle) {
    if (auto model = profile::read_model(bundle)) model_ = std::move(*model);
  }

  std::optional<SourceLine> of(Where where, const std::vector<std::string>& modules) const {
    using attribution::Stage;
    switch (where) {
      case Where::optimizer:
        return of_stage(Stage::optimizer);
      case Where::zero_grad:
        return of_stage(Stage::zero_grad);
      case Where::model:
        return of_stage(Stage::forward);
      case Where::modules:
        return modules.empty() ? std::nullopt : of_module(modules.front());
    }
    return std::nullopt;
  }

  // A library checkpoints all of these modules at once.
  bool has_switch(const std::vector<std::string>& modules) const { return profile::checkpoint_switch(model_, modules).has_value(); }

 private:
  std::optional<SourceLine> line(const profile::Site& site) const {
    if (!site.file.valid() || site.file.index >= model_.files.size()) return std::nullopt;
    return SourceLine{model_.files[site.file.index].path.string(), site.line};
  }

  std::optional<SourceLine> of_stage(attribution::Stage stage) const {
    const auto found = std::ranges::find(model_.stages, stage, &profile::StageSite::stage);
    return found == model_.stages.end() ? std::nullopt : line(found->site);
  }

  std::optional<SourceLine> of_module(const std::string& path) const {
    const auto found = std::ranges::find(model_.modules, path, &profile::ModelModule::path);
    if (found == model_.modules.end()) return std::nullopt;
    const auto& site = found->attached ? found->attached : found->constructed;
    return site ? line(*site) : std::nullopt;
  }

  profile::Model model_;
};

std::string joined(const Together& kinds, std::string_view Kind::* text, std::string_view by) {
  std::string all;
  for (const Kind* kind : kinds) all += (all.empty() ? "" : std::string(by)) + std::string(kind->*text);
  return all;
}

struct SizedStep {
  Program program;
  std::int64_t batch = 0;
};

// The recorded step as a function of its batch size, joined when it is first asked for.
class Sized {
 public:
  explicit Sized(fs::path bundle) : bundle_(std::move(bundle)) {}

  const std::expected<SizedStep, NotHere>& step() {
    if (!step_) step_ = read();
    return *step_;
  }

 private:
  std::expected<SizedStep, NotHere> read() const {
    const auto joined = with_second_size(bundle_);
    if (!joined) return std::unexpected(NotHere{.reason = joined.error().message});
    auto program = decode(joined->document);
    if (!program) return std::unexpected(NotHere{.reason = program.error().message});
    return SizedStep{std::move(*program), joined->measured.batch};
  }

  fs::path bundle_;
  std::optional<std::expected<SizedStep, NotHere>> step_;
};

// The texts that ran, read when a change that only runs tell of is first asked for.
class Executed {
 public:
  explicit Executed(fs::path bundle) : bundle_(std::move(bundle)) {}

  const Result<advice::Sources>& sources() {
    if (!sources_) sources_ = advice::read_executed(bundle_);
    return *sources_;
  }

 private:
  fs::path bundle_;
  std::optional<Result<advice::Sources>> sources_;
};

// Of a change that only runs tell of. The error: the script has no place for it.
std::expected<void, NotHere> add_measured(WhatIf& item, const Kind& kind, Executed& executed) {
  const Part part{std::string(kind.name), {}};
  const auto& sources = executed.sources();
  if (!sources) return std::unexpected(NotHere{sources.error().message});
  const auto edits = advice::edits_of({part}, *sources);
  if (!edits) return std::unexpected(NotHere{advice::sentence(edits.error())});
  item.evidence.emplace_back(kOnlyMeasured);
  item.assumes.emplace_back(kind.assumes);
  if (!item.where) item.where = advice::place_of(*edits, *sources);
  item.parts.push_back(part);
  return {};
}

WhatIf named(const Together& kinds) {
  return {.kind = joined(kinds, &Kind::name, "+"), .title = joined(kinds, &Kind::title, " and "), .where = {}, .time = {}};
}

// The error: why the step is not known as a function of its batch size, or cannot be changed so.
std::expected<void, NotHere> follow_sizes(Candidate& made, const Together& kinds, Sized& sized) {
  if (!sized.step()) return std::unexpected(sized.step().error());
  made.program = sized.step()->program;
  const std::int64_t batch = sized.step()->batch;
  const auto larger = std::ranges::find_if(kinds, [](const Kind* kind) { return kind->times_batch > 1; });
  if (larger == kinds.end() && batch % 2 != 0)
    return std::unexpected(NotHere{.reason = fmt::format("a batch of {} samples has no halves", batch)});
  if (larger == kinds.end()) return {};
  if (kinds.size() > 1) return std::unexpected(NotHere{.reason = "another batch size is told alone"});
  made.times_batch = (*larger)->times_batch;
  made.item.evidence.push_back(format::counted(batch, "sample", "samples") + " a batch");
  made.item.assumes.emplace_back((*larger)->assumes);
  return {};
}

}  // namespace

struct Candidates::Known {
  explicit Known(const fs::path& bundle) : lines(bundle), sized(bundle), executed(bundle) {}

  Lines lines;
  Sized sized;
  Executed executed;
};

Candidates::Candidates(const fs::path& bundle) : known_(std::make_unique<Known>(bundle)) {}
Candidates::~Candidates() = default;

Tried Candidates::edited(const Program& recorded, const Together& kinds) {
  const Lines& lines = known_->lines;
  Candidate made{.item = named(kinds), .program = recorded, .depends = std::ranges::any_of(kinds, &Kind::depends)};
  if (std::ranges::any_of(kinds, [](const Kind* kind) { return kind->of_sizes; })) {
    if (auto followed = follow_sizes(made, kinds, known_->sized); !followed)
      return std::unexpected(NotThis{made.item.kind, followed.error()});
  }
  if (made.times_batch > 1) {
    made.item.where = lines.of(kinds.front()->where, {});
    return made;
  }
  for (const Kind* kind : kinds) {
    if (!kind->is_replayed()) {
      if (auto added = add_measured(made.item, *kind, known_->executed); !added) {
        return std::unexpected(NotThis{made.item.kind, std::move(added.error())});
      }
      made.replayed = false;
      continue;
    }
    Edited edit = kind->edit(std::move(made.program));
    if (!edit) return std::unexpected(NotThis{made.item.kind, std::move(edit.error())});
    made.program = std::move(edit->program);
    made.item.evidence.push_back(std::move(edit->evidence));
    made.item.assumes.emplace_back(kind->assumes);
    if (!made.item.where) made.item.where = lines.of(kind->where, edit->modules);
    std::ranges::copy(edit->modules, std::back_inserter(made.item.modules));
    made.item.parts.push_back({std::string(kind->name), std::move(edit->modules)});
    made.error = std::hypot(made.error, kind->error);
  }
  made.is_choice = kinds.size() == 1 && kinds.front()->edit == checkpoint_blocks;
  made.casts = kinds.size() == 1 && kinds.front()->edit == autocast_bf16;
  made.together = made.is_choice && lines.has_switch(made.item.modules);
  return made;
}

std::expected<WhatIf, NotThis> Candidates::measured(const Together& kinds) {
  WhatIf item = named(kinds);
  for (const Kind* kind : kinds) {
    if (auto added = add_measured(item, *kind, known_->executed); !added) return std::unexpected(NotThis{item.kind, added.error()});
  }
  return item;
}

}  // namespace hotlens::lab

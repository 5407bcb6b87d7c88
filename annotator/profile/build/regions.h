// Where compiled code and replayed graphs run, and which device work has no module of its own because of them.
//
// All work of a replayed graph has one launch, which tells neither operators nor modules. In compiled code one node stands for many
// operators; its kernels have modules where a bundle's map step tells them. Names are looked at once, so asking is a walk outwards.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "annotator/profile/build/annotated.h"
#include "annotator/profile/compiled.h"

namespace hotlens::profile {

class Regions {
 public:
  // `annotated` must outlive this.
  explicit Regions(const Annotated& annotated);

  bool is_compiled(std::uint32_t node) const;  // the node itself is a call of compiled code

  // Why this device work has no module deeper than the one that its region runs in; nothing for all other work.
  std::optional<Region::Kind> hides(const attribution::Work& work) const;

  // Those of one step, longest first.
  std::vector<Region> of_step(const attribution::StepAccount& step) const;

 private:
  std::uint32_t graph_around(std::uint32_t node) const;  // the outermost call of compiled code; kNoNode outside of all

  const Annotated& annotated_;
  std::vector<bool> compiled_;  // by name
};

std::string_view name(Region::Kind kind);  // "replayed"
// What a person reads of it: why it has no module.
std::string_view reason(Region::Kind kind);

}  // namespace hotlens::profile

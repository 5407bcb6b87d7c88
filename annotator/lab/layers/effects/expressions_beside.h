// Edited expressions: which differences of two of them are followed, and how a difference that is not is told.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "annotator/lab/layers/effects/building.h"
#include "annotator/lab/layers/effects/uses.h"

namespace hotlens::layers {

class Refusals {
 public:
  // `is`: modules of the edited text.
  explicit Refusals(const Modules& is);
  // At a piece of the edited text; of what is gone, of the executed one, near what still stands.
  Unclear refuse(Node at, bool gone = false, Node near = {}) const;

 private:
  std::string module_of(Node code) const;
  std::map<const void*, std::string> sites_;  // what makes a module, and its class
};

class Expressions {
 public:
  using Why = std::optional<Unclear>;
  Expressions(const Building& building, Uses& uses, const Refusals& refusals) : building_(building), uses_(uses), refusals_(refusals) {}

  Why compare(Node was, Node is);

 private:
  Why number(Node was, Node is);
  Why made(Node is);
  Why call(Node was, Node is);
  Why arguments(Node was, Node is, bool layers);
  Why entries(Node was, Node is);

  const Building& building_;
  Uses& uses_;
  const Refusals& refusals_;
};

}  // namespace hotlens::layers

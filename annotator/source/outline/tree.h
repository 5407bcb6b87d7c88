// A Python text and what was read of it, shared and never changed.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "annotator/source/outline/position.h"

namespace hotlens::source {

// An immutable parse of one text. Cheap to copy (shared). The text is kept.
class Tree {
 public:
  static Tree parse(std::string text);
  // The tree after one edit; `text` is the whole new text. Re-uses unchanged parts.
  Tree edited(const Edit& edit, std::string text) const;

  const std::string& text() const;
  bool has_errors() const;

  struct Data;
  const Data& data() const { return *data_; }

 private:
  explicit Tree(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace hotlens::source

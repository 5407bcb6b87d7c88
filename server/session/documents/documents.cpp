#include "server/session/documents/documents.h"

#include <utility>

#include "server/session/documents/convert.h"

namespace hotlens::session {

std::vector<Change> read_changes(const protocol::Reader& list) {
  std::vector<Change> changes;
  for (const protocol::Reader& item : list.items()) {
    const auto range = item.maybe("range");
    changes.push_back({range ? std::optional(read_range(*range)) : std::nullopt, item["text"].string()});
  }
  return changes;
}

Document::Document(std::string uri, std::filesystem::path path, std::int64_t version, std::string text)
    : uri_(std::move(uri)), path_(std::move(path)), version_(version), text_(std::move(text)), lines_(text_) {}

bool Document::apply(std::int64_t version, const std::vector<Change>& changes, protocol::Encoding encoding) {
  version_ = version;
  if (changes.empty()) return in_step_;
  changed_ = true;
  view_.reset();
  baseline_.reset();
  hints_.reset();
  marks_.reset();
  // What came before the last whole text has no effect.
  auto first = changes.size();
  while (first > 0 && changes[first - 1].range) --first;
  if (first > 0) {
    --first;
    in_step_ = true;
  }
  for (std::size_t i = first; i < changes.size() && in_step_; ++i) {
    in_step_ = apply_change(text_, lines_, changes[i].range, changes[i].text, encoding);
  }
  return in_step_;
}

void Document::bind(Binding binding) {
  view_.reset();
  baseline_.reset();
  hints_.reset();
  marks_.reset();
  binding_ = std::move(binding);
}

const std::shared_ptr<const profile::Profile>& Document::profile() const {
  static const std::shared_ptr<const profile::Profile> kNone;
  return binding_ ? binding_->profile : kNone;
}

const source::Tree& Document::tree() const {
  if (!tree_) {
    tree_ = source::Tree::parse(text_);
  } else if (const auto edit = edit_between(tree_->text(), text_)) {
    tree_ = tree_->edited(*edit, text_);
  }
  return *tree_;
}

const features::FileView& Document::view() const {
  if (!view_) {
    const Binding binding = binding_.value_or(Binding{});
    view_ = features::view(path_, tree(), binding.facts, binding.profile);
  }
  return *view_;
}

const std::shared_ptr<const features::Baseline>& Document::baseline() const {
  if (!baseline_ && binding_ && binding_->baseline_facts) {
    baseline_ = std::make_shared<const features::Baseline>(features::view(path_, tree(), binding_->baseline_facts, binding_->baseline),
                                                           binding_->judge.value());
  }
  return baseline_;
}

const std::vector<features::Hint>& Document::hints(features::LineRange lines, const features::Options& options) const {
  if (!hints_ || hints_->lines != lines || hints_->options != options)
    hints_ = {lines, options, features::inlay_hints(view(), lines, options, said_)};
  return hints_->hints;
}

const std::vector<features::Heat>& Document::heat(double min_share) const {
  if (!marks_ || marks_->min_share != min_share) marks_ = {min_share, features::heat(view(), min_share, marked_)};
  return marks_->marks;
}

Document& Documents::open(Document document) {
  document.serial_ = next_serial_++;
  const std::string uri = document.uri();
  return open_.insert_or_assign(uri, std::move(document)).first->second;
}

Document* Documents::find(const std::string& uri) {
  const auto found = open_.find(uri);
  return found == open_.end() ? nullptr : &found->second;
}

Document* Documents::find(std::int64_t serial) {
  for (auto& [uri, document] : open_) {
    if (document.serial() == serial) return &document;
  }
  return nullptr;
}

Document* Documents::at(const std::filesystem::path& path) {
  for (auto& [uri, document] : open_) {
    if (document.path() == path) return &document;
  }
  return nullptr;
}

}  // namespace hotlens::session

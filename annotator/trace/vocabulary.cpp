#include "annotator/trace/vocabulary.h"

#include "annotator/trace/category.h"
#include "annotator/trace/text.h"

namespace hotlens::trace {

NameId Vocabulary::name_of(std::string_view token) {
  const NameId raw = raw_names_.intern(bare(token));
  if (raw.index == name_by_raw_.size()) {
    const NameId name = trace_.names.intern(unescaped(token));
    name_by_raw_.push_back(name);
    if (name.index == annotation_by_name_.size()) {
      annotation_by_name_.push_back(is_annotation_name(trace_.names[name]));
      free_by_name_.push_back(is_free_name(trace_.names[name]));
    }
  }
  return name_by_raw_[raw.index];
}

ProcessId Vocabulary::process_of(std::string_view process) {
  process = bare(process);
  const NameId token = tokens_.intern(process);
  const auto [known, fresh] = process_by_token_.try_emplace(token.index, ProcessId{static_cast<std::uint32_t>(trace_.processes.size())});
  if (fresh) trace_.processes.push_back({.id = unescaped(process), .name = {}, .labels = {}});
  return known->second;
}

ThreadId Vocabulary::thread_of(std::string_view process, std::string_view thread) {
  process = bare(process);
  thread = bare(thread);
  if (last_.valid() && process == last_process_ && thread == last_thread_) return last_;
  const NameId process_token = tokens_.intern(process);
  const NameId thread_token = tokens_.intern(thread);
  const std::uint64_t key = std::uint64_t{process_token.index} << 32 | thread_token.index;
  const auto [known, fresh] = thread_by_tokens_.try_emplace(key, ThreadId{static_cast<std::uint32_t>(trace_.threads.size())});
  if (fresh) {
    trace_.threads.push_back({.process = unescaped(process), .id = unescaped(thread), .name = {}, .process_id = process_of(process)});
  }
  last_process_ = tokens_[process_token];  // the event's own bytes may be gone by the next
  last_thread_ = tokens_[thread_token];
  last_ = known->second;
  return last_;
}

Category Vocabulary::category_of(std::string_view category, std::string_view process, NameId name, bool numbered) {
  const std::string_view text = bare(category);
  const std::string_view place = text.empty() ? bare(process) : text;
  if (place != last_place_ || place.empty()) {
    const NameId token = tokens_.intern(place);
    if (token.index >= category_by_token_.size()) category_by_token_.resize(token.index + 1);
    std::optional<Known>& known = category_by_token_[token.index];
    if (!known) {
      const std::optional<Category> named = category_named(place);
      known = Known{named.value_or(Category::other), !named};
      if (trace_.accelerator.empty()) trace_.accelerator = accelerator_named(place);
    }
    last_place_ = tokens_[token];
    last_category_ = known->category;
    last_unknown_ = known->unknown;
  }
  if (last_category_ != Category::cpu_op) return last_category_;
  const bool range = annotation_by_name_[name.index] || (free_by_name_[name.index] && !numbered && text == "Operator");
  return range ? Category::annotation : Category::cpu_op;
}

}  // namespace hotlens::trace

// What blocks are called, and the paths that lead to them.
#include <algorithm>
#include <charconv>
#include <functional>

#include "annotator/blocks/block_tree.h"
#include "annotator/blocks/blocks.h"
#include "annotator/kernels/kernel_name.h"

namespace hotlens::blocks {
namespace {

using Kind = Block::Kind;

constexpr std::size_t kMaxLabel = 200;   // bytes; a kernel's name may be 10 kB
constexpr std::size_t kMaxSegment = 80;  // bytes; paths stand in addresses
constexpr std::string_view kTimes = "×";

std::size_t whole_characters(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return limit;
}

std::string cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  return std::string(text.substr(0, whole_characters(text, limit - 3))) + "…";
}

// FNV-1a: the same in every run and build, unlike std::hash.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  std::string digits(16, '0');
  for (std::size_t at = 0; at < digits.size(); ++at, hash >>= 4) digits[at] = "0123456789abcdef"[hash & 15];
  return digits;
}

const profile::ModuleName* module_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  if (of.kind == Kind::fold) return module_of(blocks, of.id);
  return of.kind == Kind::module ? &blocks.modules[blocks.annotated->owners.calls.value[of.id]] : nullptr;
}

// The path as seen from the module around it: "0" in "layer1", "encoder.layer.0" in a model without a name.
std::string_view relative(std::string_view path, std::string_view around) {
  if (around.empty() || !path.starts_with(around) || path.size() <= around.size() + 1) return path;
  const char separator = path[around.size()];
  return separator == '.' || separator == '/' ? path.substr(around.size() + 1) : path;
}

std::string_view around(const Blocks& blocks, std::uint32_t block) {
  for (std::uint32_t at = blocks.blocks[block].parent; at != kNoBlock; at = blocks.blocks[at].parent) {
    if (blocks.blocks[at].kind == Kind::module) return module_of(blocks, at)->path;
  }
  return {};
}

std::string_view relative_name(const Blocks& blocks, std::uint32_t block, const profile::ModuleName& module) {
  return module.path.empty() ? std::string_view(module.class_name) : relative(module.path, around(blocks, block));
}

std::string segment_name(const Blocks& blocks, std::uint32_t block) {
  const profile::ModuleName* module = module_of(blocks, block);
  std::string text = module != nullptr ? std::string(relative_name(blocks, block, *module)) : name_of(blocks, block);
  if (text.size() > kMaxSegment) text = cut(text, kMaxSegment - 20) + digest(text);
  return text;
}

std::string numbered(std::string text, std::uint32_t ordinal) {
  if (ordinal > 0) text += "~" + std::to_string(ordinal + 1);
  return text;
}

// The ordinal that a segment may end with; 0 where it has none.
std::uint32_t ordinal_in(std::string_view segment) {
  const std::size_t mark = segment.rfind('~');
  std::uint32_t number = 0;
  if (mark == std::string_view::npos) return 0;
  const auto [end, error] = std::from_chars(segment.data() + mark + 1, segment.data() + segment.size(), number);
  return error == std::errc() && end == segment.data() + segment.size() && number > 1 ? number - 1 : 0;
}

std::optional<std::uint32_t> child_named(const Blocks& blocks, std::uint32_t parent, std::string_view segment) {
  const std::uint32_t ordinal = ordinal_in(segment);
  std::vector<bool> wrong(blocks.labels);  // a million neighbours share a few names: each is spelled once
  for (const std::uint32_t child : blocks.below(parent)) {
    const Block& block = blocks.blocks[child];
    if (wrong[block.label] || block.kind == Kind::idle || (block.ordinal != ordinal && block.ordinal != 0)) continue;
    const std::string text = segment_name(blocks, child);
    if (!segment.starts_with(text)) {
      wrong[block.label] = true;
    } else if (segment == numbered(text, block.ordinal)) {
      return child;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> fold_named(const Blocks& blocks, std::uint32_t parent, std::string_view segment) {
  const std::size_t mark = segment.rfind(kTimes);
  if (mark == std::string_view::npos) return std::nullopt;
  const auto first = child_named(blocks, parent, segment.substr(0, mark));
  if (!first) return std::nullopt;
  const std::uint32_t fold = blocks.blocks[*first].parent;
  return blocks.blocks[fold].kind == Kind::fold && segment_of(blocks, fold) == segment ? std::optional(fold) : std::nullopt;
}

std::optional<std::uint32_t> inside_named(const Blocks& blocks, std::uint32_t parent, std::string_view segment) {
  const auto child = child_named(blocks, parent, segment);
  return child ? child : fold_named(blocks, parent, segment);
}

// The only thing inside a block, when that is a module with modules inside.
std::uint32_t only_model(const Blocks& blocks, std::uint32_t block) {
  std::uint32_t only = kNoBlock;
  for (const std::uint32_t child : blocks.below(block)) {
    if (blocks.blocks[child].kind == Kind::idle) continue;
    if (blocks.blocks[child].kind != Kind::module || only != kNoBlock) return kNoBlock;
    only = child;
  }
  if (only == kNoBlock) return kNoBlock;
  const auto inside = blocks.below(only);
  const bool holds = std::ranges::any_of(inside, [&](std::uint32_t child) { return blocks.blocks[child].kind == Kind::module; });
  return holds ? only : kNoBlock;
}

// An address may name a node that has no block of its own.
bool is_evaluated_by(const Blocks& blocks, std::uint32_t block, std::string_view segment) {
  const std::string name = name_of(blocks, block);
  const std::string_view node = evaluated(name);
  return !node.empty() && segment.substr(0, segment.rfind('~')) == node;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string name_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  const profile::Annotated& annotated = *blocks.annotated;
  const auto name_of_event = [&](std::uint32_t event) { return std::string(annotated.trace.names[annotated.trace.events.name[event]]); };
  switch (of.kind) {
    case Kind::step:
      return "step " + std::to_string(annotated.account.steps[blocks.step].span.index);
    case Kind::stage:
      return std::string(attribution::name(of.stage));
    case Kind::earlier:
      return "earlier step";
    case Kind::idle:
      return "no operator";
    case Kind::module:
      return module_of(blocks, block)->path;
    case Kind::fold:
      return name_of(blocks, of.id);
    case Kind::op:
    case Kind::launch:
    case Kind::wait:
      return name_of_event(annotated.forest.event[of.id]);
    case Kind::exchange:
      return name_of_event(of.id);
    case Kind::kernel:
    case Kind::copy:
    case Kind::communication:
      return name_of_event(annotated.account.work[of.id].event);
  }
  return {};
}

std::string_view evaluated(std::string_view name) {
  constexpr std::string_view kEvaluates = "autograd::engine::evaluate_function: ";
  return name.starts_with(kEvaluates) ? name.substr(kEvaluates.size()) : std::string_view();
}

std::string label_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  if (of.kind == Kind::fold) return label_of(blocks, of.id) + " ×" + std::to_string(of.members);
  if (of.kind == Kind::kernel || of.kind == Kind::communication) {
    const std::string name = name_of(blocks, block);
    const kernels::KernelName parts = kernels::kernel_name(name);
    return cut(parts.label.empty() ? name : parts.label, kMaxLabel);
  }
  if (const profile::ModuleName* module = module_of(blocks, block)) {
    const std::string_view shown = relative_name(blocks, block, *module);
    const bool says_nothing = all_digits(shown.substr(shown.rfind('.') + 1));
    return cut(says_nothing && !module->class_name.empty() ? std::string(shown) + " " + module->class_name : shown, kMaxLabel);
  }
  const std::string name = name_of(blocks, block);
  return cut(evaluated(name).empty() ? name : evaluated(name), kMaxLabel);
}

std::string_view colour_of(const Block& block) {
  switch (block.kind) {
    case Kind::idle:
      return "idle";
    case Kind::wait:
      return "waiting";
    case Kind::earlier:
      return "earlier_step";
    case Kind::communication:
    case Kind::exchange:
      return "communication";
    case Kind::op:
    case Kind::launch:
      // An operator that does little but wait, like item(), is seen as what it is from above.
      return block.waiting * 2 > block.host ? "waiting" : attribution::name(block.stage);
    default:
      return attribution::name(block.stage);
  }
}

std::string_view name(Block::Kind kind) {
  switch (kind) {
    case Kind::step:
      return "step";
    case Kind::stage:
    case Kind::earlier:
      return "stage";
    case Kind::module:
      return "module";
    case Kind::op:
      return "operator";
    case Kind::launch:
      return "launch";
    case Kind::kernel:
      return "kernel";
    case Kind::copy:
      return "copy";
    case Kind::communication:
    case Kind::exchange:
      return "communication";
    case Kind::wait:
      return "wait";
    case Kind::idle:
      return "idle";
    case Kind::fold:
      return "fold";
  }
  return "";
}

std::string segment_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  if (of.kind == Kind::fold) return segment_of(blocks, of.id).append(kTimes).append(std::to_string(of.members));
  return numbered(segment_name(blocks, block), of.ordinal);
}

std::vector<std::uint32_t> way_to(const Blocks& blocks, std::uint32_t block) {
  std::vector<std::uint32_t> way;
  for (std::uint32_t at = block; at != kNoBlock; at = blocks.blocks[at].parent) way.push_back(at);
  std::ranges::reverse(way);
  const auto lifted = way.size() > 2 ? blocks.lifted.find(way[1]) : blocks.lifted.end();
  if (lifted == blocks.lifted.end()) return way;
  const auto model = std::ranges::find(way, lifted->second);
  if (model != way.end() && model + 1 != way.end()) way.erase(way.begin() + 2, model + 1);
  return way;
}

std::vector<std::string> path_of(const Blocks& blocks, std::uint32_t block) {
  std::vector<std::string> path;
  for (const std::uint32_t at : way_to(blocks, block)) {
    if (at != kStepBlock) path.push_back(segment_of(blocks, at));
  }
  return path;
}

std::optional<std::uint32_t> find_block(const Blocks& blocks, std::span<const std::string> path) {
  std::uint32_t at = kStepBlock;
  for (const std::string& segment : path) {
    const std::uint32_t parent = blocks.blocks[at].kind == Kind::fold ? blocks.blocks[at].parent : at;
    std::optional<std::uint32_t> next = inside_named(blocks, parent, segment);
    const auto lifted = next ? blocks.lifted.end() : blocks.lifted.find(parent);
    if (lifted != blocks.lifted.end()) next = inside_named(blocks, lifted->second, segment);
    if (!next && is_evaluated_by(blocks, at, segment)) continue;
    if (!next) return std::nullopt;
    at = *next;
  }
  return at;
}

void lift_models(Blocks& blocks) {
  for (const std::uint32_t stage : blocks.below(kStepBlock)) {
    if (blocks.blocks[stage].kind != Kind::stage) continue;
    std::uint32_t model = stage, first = kNoBlock;
    for (std::uint32_t next = only_model(blocks, stage); next != kNoBlock; next = only_model(blocks, next)) {
      if (first == kNoBlock) first = next;
      model = next;
    }
    // Where the model's own name is that of something inside it, the name would lead to two blocks.
    if (model != stage && !inside_named(blocks, model, segment_of(blocks, first))) blocks.lifted.emplace(stage, model);
  }
}

std::vector<std::uint32_t> folded(const Blocks& blocks, std::uint32_t fold) {
  if (blocks.blocks[fold].kind != Kind::fold) return {};
  std::vector<std::uint32_t> members;
  for (const std::uint32_t child : blocks.below(blocks.blocks[fold].parent)) {
    if (blocks.blocks[child].parent == fold) members.push_back(child);
  }
  return members;
}

}  // namespace hotlens::blocks

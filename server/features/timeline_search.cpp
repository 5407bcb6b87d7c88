#include "server/features/timeline_search.h"

#include <algorithm>
#include <unordered_map>

namespace hotlens::features {
namespace {

using profile::Block;
using profile::Blocks;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool holds(std::string_view text, std::string_view query) {
  return std::ranges::search(text, query, [](char a, char b) { return lower(a) == lower(b); }).begin() != text.end();
}

std::optional<Match::Kind> kind_of(Block::Kind kind) {
  switch (kind) {
    case Block::Kind::stage:
    case Block::Kind::earlier:
      return Match::Kind::stage;
    case Block::Kind::module:
      return Match::Kind::module;
    case Block::Kind::op:
    case Block::Kind::launch:
    case Block::Kind::wait:
      return Match::Kind::op;
    case Block::Kind::kernel:
    case Block::Kind::copy:
    case Block::Kind::communication:
      return Match::Kind::kernel;
    default:
      return std::nullopt;
  }
}

// What a person may type for the block: a module by its path or its class.
bool answers(const Blocks& blocks, std::uint32_t block, std::string_view query) {
  if (holds(profile::name_of(blocks, block), query)) return true;
  if (blocks.blocks[block].kind != Block::Kind::module) return false;
  return holds(blocks.modules[blocks.annotated->owners.calls.value[blocks.blocks[block].id]].class_name, query);
}

Match match_of(const Blocks& blocks, std::uint32_t block, Match::Kind kind) {
  Match match{.kind = kind, .label = profile::name_of(blocks, block), .detail = {}, .block = block};
  if (kind == Match::Kind::module) {
    match.detail = blocks.modules[blocks.annotated->owners.calls.value[blocks.blocks[block].id]].class_name;
    if (match.label.empty()) match.label = match.detail;
  } else if (kind == Match::Kind::kernel) {
    match.detail = profile::label_of(blocks, block);
  }
  return match;
}

}  // namespace

Matches search(const Blocks& blocks, const profile::Profile& profile, std::string_view query, std::size_t limit) {
  Matches result;
  if (query.empty()) return result;
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::unordered_map<std::uint32_t, std::size_t> by_label;  // into the matches; kNone where the name does not hold it
  for (std::uint32_t at = 1; at < blocks.blocks.size(); ++at) {
    const Block& block = blocks.blocks[at];
    const auto kind = kind_of(block.kind);
    if (!kind) continue;
    const auto [entry, fresh] = by_label.try_emplace(block.label, kNone);
    if (fresh && answers(blocks, at, query)) {
      entry->second = result.matches.size();
      result.matches.push_back(match_of(blocks, at, *kind));
    }
    if (entry->second == kNone) continue;
    Match& match = result.matches[entry->second];
    match.time += match.kind == Match::Kind::kernel || block.host == Ns{} ? block.device : block.host;
    ++match.count;
  }
  for (std::uint32_t file = 0; file < profile.files.size(); ++file) {
    const std::string path = profile.files[file].path.string();
    if (!holds(path, query)) continue;
    result.matches.push_back({.kind = Match::Kind::file,
                              .label = profile.files[file].path.filename().string(),
                              .detail = path,
                              .file = profile::FileId{file},
                              .count = 1});
  }
  std::ranges::stable_sort(result.matches, [](const Match& a, const Match& b) {
    const bool a_first = a.kind <= Match::Kind::module, b_first = b.kind <= Match::Kind::module;
    return a_first != b_first ? a_first : a.time > b.time;
  });
  result.total = result.matches.size();
  if (result.matches.size() > limit) result.matches.resize(limit);
  return result;
}

}  // namespace hotlens::features

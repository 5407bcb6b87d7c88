#include "server/features/timeline_search.h"

#include <algorithm>

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
  const profile::BlockIndex& index = blocks.index;
  for (const profile::BlockIndex::Name& name : index.names) {
    const auto kind = kind_of(name.kind);
    const std::uint32_t first = index.by_rank[index.name_rank[name.begin]];
    if (!kind || !answers(blocks, first, query)) continue;
    Match match = match_of(blocks, first, *kind);
    match.time = *kind == Match::Kind::kernel || name.host == Ns{} ? name.device : name.host;
    match.count = name.end - name.begin;
    result.matches.push_back(std::move(match));
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

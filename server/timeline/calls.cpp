// `hotlens/timeline/call`: from one block to the next of its name, in order of time.
#include <algorithm>

#include "server/timeline/requests.h"
#include "server/timeline/rows.h"

namespace hotlens::timeline_requests {

using protocol::Answer;
using protocol::Json;

Answer call(const Subject& subject, const protocol::Reader& params) {
  const bool back = params["back"].boolean();
  if (auto error = params.error()) return std::unexpected(*error);
  const blocks::Blocks& blocks = *subject.blocks;
  blocks::Block of = blocks.blocks[subject.block];
  if (of.kind == blocks::Block::Kind::fold) of.kind = blocks.blocks[of.id].kind;
  const blocks::BlockIndex& index = blocks.index;
  const blocks::BlockIndex::Name* name = index.named(of.kind, of.label);
  if (name == nullptr) return Json{{"position", 0}, {"count", 0}};
  const std::span ranks = std::span(index.name_rank).subspan(name->begin, name->end - name->begin);
  const auto here = std::ranges::lower_bound(ranks, index.ranks[subject.block].begin) - ranks.begin();
  const auto next = back ? here - 1 : here + 1;
  Json answer{{"position", here}, {"count", ranks.size()}};
  if (next < 0 || next >= std::ssize(ranks)) return answer;
  answer["position"] = next;
  answer["path"] = blocks::path_of(blocks, index.by_rank[ranks[static_cast<std::size_t>(next)]]);
  return answer;
}

}  // namespace hotlens::timeline_requests

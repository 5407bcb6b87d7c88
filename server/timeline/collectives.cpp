// What `details` says of the exchanges below a block: bytes, processes, algorithm, bandwidth.
#include <algorithm>
#include <map>
#include <tuple>

#include "annotator/ranks/exchange.h"
#include "annotator/ranks/together.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using blocks::Blocks;
using protocol::Json;
using ranks::Collective;

constexpr std::size_t kMostCollectives = 20;

struct Sum {
  Collective like;  // its bytes are the sum
  std::string algorithm;
  std::int64_t calls = 0;
  Ns time{}, exposed{};
  bool sized = true;  // the bytes of all are known
};

// One exchange below a block: when it began, and how long nothing else ran beside it.
struct Seen {
  Ns start{}, exposed{};
  std::string algorithm;
};

std::vector<Seen> seen_below(const Blocks& blocks, std::uint32_t block) {
  const profile::Annotated& annotated = *blocks.annotated;
  const trace::Events& events = annotated.trace.events;
  const blocks::BlockIndex::Ranks below = blocks.index.ranks[block];
  std::vector<Seen> seen;
  for (const std::uint32_t at : blocks.communication) {
    if (!below.hold(blocks.index.ranks[at].begin)) continue;
    const attribution::Work& work = annotated.account.work[blocks.blocks[at].id];
    seen.push_back({work.start, work.exposed, ranks::algorithm_named(annotated.trace.names[events.name[work.event]])});
  }
  if (blocks.exchanges.empty()) return seen;
  for (std::uint32_t rank = below.begin; rank < below.end; ++rank) {
    const blocks::Block& of = blocks.blocks[blocks.index.by_rank[rank]];
    if (of.kind == blocks::Block::Kind::exchange) seen.push_back({events.start[of.id], of.host, {}});
  }
  return seen;
}

// Those that are told apart in nothing that a person reads are one row. Longest first.
std::vector<Sum> sums_below(const Blocks& blocks, std::uint32_t block) {
  std::vector<Collective> all;
  std::map<std::tuple<std::string, std::string, std::string, std::optional<std::int64_t>, std::string>, Sum> rows;
  for (const Seen& each : seen_below(blocks, block)) {
    if (all.empty()) all = ranks::collectives_of(*blocks.annotated);
    const auto found = std::ranges::lower_bound(all, each.start, {}, &Collective::start);
    if (found == all.end() || found->start != each.start) continue;  // a further kernel of the same exchange, or one between two processes
    Sum& sum = rows[{found->operation, found->group, found->type, found->group_size, each.algorithm}];
    if (sum.calls++ == 0) {
      sum.like = *found;
      sum.like.bytes = Bytes{};
      sum.algorithm = each.algorithm;
    }
    sum.time += found->end - found->start;
    sum.exposed += each.exposed;
    sum.sized = sum.sized && found->bytes.has_value();
    if (found->bytes) sum.like.bytes = *sum.like.bytes + *found->bytes;
  }
  std::vector<Sum> sorted;
  for (auto& [key, sum] : rows) sorted.push_back(std::move(sum));
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Sum::time);
  return sorted;
}

Json row_of(const Sum& sum) {
  const Collective& like = sum.like;
  Json row{{"operation", like.operation.substr(0, 100)},
           {"group", like.group.substr(0, 100)},
           {"calls", sum.calls},
           {"time", sum.time.count()},
           {"exposed", sum.exposed.count()}};
  if (!like.type.empty()) row["type"] = like.type.substr(0, 100);
  if (like.group_size) row["processes"] = *like.group_size;
  if (!sum.algorithm.empty()) row["algorithm"] = sum.algorithm;
  if (!sum.sized) return row;
  row["bytes"] = count(*like.bytes);
  // One process sees its own stay, in which it also waits for the others: they exchange at least this fast.
  const ranks::Shared stay{
      .operation = like.operation, .group_size = like.group_size, .bytes = like.bytes, .last_start = Ns{}, .end = sum.time};
  if (const auto speed = ranks::bandwidth(stay)) {
    row["algorithmBandwidth"] = static_cast<std::int64_t>(speed->algorithm);
    row["busBandwidth"] = static_cast<std::int64_t>(speed->bus);
  }
  return row;
}

}  // namespace

void put_collectives(Json& details, const Blocks& blocks, std::uint32_t block) {
  Json rows = Json::array();
  for (const Sum& sum : sums_below(blocks, block)) {
    if (rows.size() < kMostCollectives) rows.push_back(row_of(sum));
  }
  if (!rows.empty()) details["collectives"] = std::move(rows);
}

}  // namespace hotlens::timeline_requests

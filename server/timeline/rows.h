// What rows about modules and stages have in common: names cut to a bearable length, the block that a row leads to, its line.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "annotator/blocks/blocks.h"
#include "protocol/reader.h"
#include "protocol/rpc.h"
#include "server/features/timeline/breakdown.h"

namespace hotlens::timeline_requests {

constexpr std::size_t kMostRows = 1000;  // of one answer

// At a character's end, with "…" behind it.
std::string cut(std::string_view text, std::size_t bytes = 300);

// Adds `file` and `line` where the site is known.
void put_place(protocol::Json& row, const profile::Profile& profile, const std::optional<profile::Site>& site);

// The blocks that rows lead to: the first one of each module and of each stage. `blocks` must outlive it.
class RowPaths {
 public:
  explicit RowPaths(const blocks::Blocks& blocks);

  // Adds `path` where the step has a block of it.
  void put(protocol::Json& row, const profile::Module& module) const;
  void put(protocol::Json& row, const features::BreakdownRow& of, const profile::Profile& profile) const;

 private:
  const blocks::Blocks& blocks_;
  std::map<std::string_view, std::uint32_t> modules_;  // by path
  std::map<profile::Stage, std::uint32_t> stages_;
};

// Invalid for an absent name; the error names one that is not there.
std::expected<profile::ModuleId, protocol::RpcError> module_in(const protocol::Reader& params, const profile::Profile& profile);

// Row of `breakdown`, without its path.
protocol::Json row_json(const features::BreakdownRow& row, const profile::Profile& profile);

}  // namespace hotlens::timeline_requests

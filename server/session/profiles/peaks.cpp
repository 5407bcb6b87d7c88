#include "server/session/profiles/peaks.h"

#include <algorithm>
#include <utility>

#include "annotator/profile/bundle/bundle.h"
#include "server/runs/device_rows.h"

namespace hotlens::session {
namespace {

using Card = std::shared_ptr<const report::CostCard>;

Card card_of(const profile::Profile& profile) {
  const profile::Device* device = report::working_device(profile);
  const auto folder = runs::device_folder(runs::process_environment());
  const auto manifest = profile::read_manifest(profile.folder);
  if (device == nullptr || !folder || !manifest) return nullptr;
  const auto row = runs::kept_row(device->name, profile.has_device() ? 0 : manifest->threads, *folder);
  auto card = row ? report::cost_card(profile, &*row) : std::nullopt;
  return card ? std::make_shared<const report::CostCard>(std::move(*card)) : nullptr;
}

}  // namespace

void Peaks::look(const std::vector<Shared>& shown) {
  std::erase_if(known_, [&](const auto& one) {
    return std::ranges::find(shown, one.first, [](const Shared& each) { return each->id; }) == shown.end();
  });
  for (const Shared& profile : shown) {
    if (!known_.emplace(profile->id, nullptr).second) continue;
    loop_.work([profile] { return card_of(*profile); },
               [this, id = profile->id](Result<Card> found) {
                 if (const auto at = known_.find(id); found && at != known_.end()) at->second = std::move(*found);
               });
  }
}

Card Peaks::of(const std::string& profile) const {
  const auto found = known_.find(profile);
  return found == known_.end() ? nullptr : found->second;
}

}  // namespace hotlens::session

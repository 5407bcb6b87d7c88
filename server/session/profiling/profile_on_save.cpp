#include "server/session/profiling/profile_on_save.h"

#include <utility>

#include "server/session/profiling/profiling.h"

namespace hotlens::session {

void ProfileOnSave::saved(ProfileArguments asked, protocol::Reply reply) {
  const Document* document = workspace_.documents.find(asked.uri);
  if (!workspace_.trusted) return reply(not_started(kUntrusted));
  if (document == nullptr || !document->has_facts()) return reply(not_started("No profile knows a line of this file."));
  if (!events_.running()) return events_.profile(asked, std::move(reply));
  waiting_ = std::move(asked);
  reply(not_started("A profiling run is in progress; another one follows it."));
}

void ProfileOnSave::run_ended() {
  if (const auto asked = std::exchange(waiting_, std::nullopt)) events_.profile(*asked, protocol::Reply([](const protocol::Outcome&) {}));
}

}  // namespace hotlens::session

#include "server/features/words/held_note.h"

#include "annotator/common/format.h"
#include "annotator/profile/saved.h"
#include "server/features/words/format.h"

namespace hotlens::features {

std::string held_note(const LineSummary& summary, const profile::Profile& profile, bool markdown) {
  if (summary.clock || summary.modules.empty()) return "";
  const profile::HeldUntilBackward held = profile::held_until_backward(profile, summary.modules);
  if (held.bytes <= Bytes{}) return "";
  std::string out = "held until backward: " + format::readable(held.bytes);
  if (held.needed < held.bytes) out += ", " + format::readable(held.needed) + " needed";
  if (!held.shared_with) return out;
  const profile::Module& other = profile.at(*held.shared_with);
  const std::string& name = other.path.empty() ? other.class_name : other.path;
  return out + "; shared with " + (markdown ? escape_markdown(name, 48) : plain(name, 48));
}

}  // namespace hotlens::features

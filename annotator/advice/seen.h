// An applied change in the next ordinary profile: what the script takes with it, beside what it took before.
//
// The next profile is the first that was begun after the change was applied, of the same command in the same folder. It counts where the
// change is in it and nothing else differs: no other text of the workspace, no other version, device, number of threads or batch size. Else
// it is said why not, once, and nothing is counted. Two profiles are two runs: the interval is the noise between them (run_noise.h).
#pragma once

#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "annotator/advice/ledger.h"
#include "annotator/common/error.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/run_noise.h"

namespace hotlens::advice {

// What a profile ran, as far as it tells whether another one differs by an edit alone.
struct Ran {
  struct File {
    std::string sha256;
    std::optional<std::string> text;  // absent where it was not kept
  };
  profile::Manifest manifest;
  std::map<std::string, File> files;  // of the workspace, by path
  std::optional<profile::RunSamples> steps = {};
};
Result<Ran> read_ran(const std::filesystem::path& bundle);

// Edits of a text that read as they say there; nullopt where one does not.
std::optional<std::string> edited_text(const std::string& text, std::vector<lab::SourceEdit> edits);

struct Step {
  lab::Ratio ratio;
  Ns was{}, now{};
};
// Whether the later profile differs by these edits alone, and what its step takes; the error: why it does not count.
std::expected<Step, std::string> judged(const std::vector<lab::SourceEdit>& edits, const Ran& before, const Ran& after);

// The same of another batch size: one number of the command or of its texts is another one, and nothing else.
std::expected<Step, std::string> judged_size(const Ran& before, const Ran& after);

// Kinds of predictions that are of no kind of change: of another batch size, of what somebody typed.
inline constexpr std::string_view kBatchSize = "batch_size", kEditedLayers = "edited_layers";

// Adds `seen` or `unseen` for each applied change of the workspace whose next profile is there; and where this profile has a batch size
// that was predicted from the last one of another size, what was predicted and what came of it. The records that were added and tell
// something.
Result<std::vector<Record>> take_up_seen(const std::filesystem::path& bundle);

// "fused_optimizer is in this profile: 41.8 ms → 36.4 ms, −12.9 % (−15.0…−10.8)"
std::string sentence(const Record& seen);

}  // namespace hotlens::advice

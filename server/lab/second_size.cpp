#include "server/lab/second_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/lab/program/join.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/runs/words.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOthers = 20;  // bundles that are looked at for a second batch size, newest first

// The script, or `-m` and the module, without arguments.
std::span<const std::string> script(const Recorded& recorded) {
  const std::size_t words = !recorded.argv.empty() && recorded.argv.front() == "-m" ? 2 : 1;
  return std::span(recorded.argv).first(std::min(words, recorded.argv.size()));
}

Error no_second_size(const Recorded& measured, const std::optional<Error>& difference) {
  if (difference) return *difference;
  return {
      ErrorCode::unsupported,
      fmt::format("this profile knows the step at batch size {} alone; two sizes show what follows the batch: hotlens run --batch-sizes "
                  "{},{} {}",
                  measured.batch, measured.batch, second_size(measured.batch), runs::quoted(measured.argv)),
      {}};
}

Joined joined(Recorded& measured, Recorded& second, nlohmann::json& document) {
  Joined both{.measured = std::move(measured), .others = {}, .document = std::move(document)};
  both.others.push_back(std::move(second));
  return both;
}

}  // namespace

Result<Joined> with_second_size(const fs::path& bundle) {
  auto measured = read_recorded(bundle);
  if (!measured) return std::unexpected(measured.error());
  std::optional<Error> difference;
  for (Recorded& second : read_sized(bundle)) {
    if (second.batch == measured->batch) continue;
    auto document = join({measured->document, measured->batch}, {second.document, second.batch});
    if (document) return joined(*measured, second, *document);
    if (!difference) difference = document.error();
  }
  std::size_t looked_at = 0;
  for (const fs::path& other : profile::bundles(bundle.parent_path())) {
    if (other.filename() == bundle.filename() || ++looked_at > kMostOthers) continue;
    auto second = read_recorded(other);
    if (!second || second->batch == measured->batch || second->torch != measured->torch) continue;
    if (!std::ranges::equal(script(*second), script(*measured))) continue;
    auto document = join({measured->document, measured->batch}, {second->document, second->batch});
    if (document) return joined(*measured, *second, *document);
    if (!difference) difference = document.error();
  }
  return std::unexpected(no_second_size(*measured, difference));
}

Result<Joined> with_other_values(const fs::path& bundle, const std::string& number) {
  auto steps = read_varied(bundle, number);
  if (!steps) return std::unexpected(steps.error());
  if (steps->size() < 3) {
    return std::unexpected(
        Error{ErrorCode::unsupported,
              fmt::format("other values of {} were recorded, but fewer than two could be: hotlens run --vary {}", number, number),
              {}});
  }
  const auto recording = [&](std::size_t at) { return Recording{(*steps)[at].document, (*steps)[at].batch}; };
  auto document = join(recording(0), recording(1), recording(2), number);
  if (!document) return std::unexpected(document.error());
  Joined all{.measured = std::move(steps->front()), .others = {}, .document = std::move(*document)};
  for (std::size_t at = 1; at < steps->size(); ++at) all.others.push_back(std::move((*steps)[at]));
  return all;
}

}  // namespace hotlens::lab

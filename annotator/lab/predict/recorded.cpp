#include "annotator/lab/predict/recorded.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "annotator/common/file.h"
#include "annotator/common/memory.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/spread.h"
#include "annotator/profile/statistics.h"
#include "annotator/trace/source.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The recorder writes at most 5 MB, which is some sixteen times as much text.
constexpr std::size_t kMostText = std::size_t{128} << 20;
constexpr std::size_t kParsedRatio = 24;  // memory for each byte of text: measured with lists of numbers, the worst there is

Error unusable(const std::string& what, const fs::path& where) {
  return {ErrorCode::unsupported, what, where.string()};
}

// What is parsed takes many times the text.
Result<std::string> inflated(const fs::path& bundle, const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::unexpected(unusable("the recorded program is missing; record it again", file));
  if (!is_file_inside(file, bundle)) {
    return std::unexpected(unusable("the recorded program is no regular file in the bundle and was not read", file));
  }
  const std::size_t most = std::min(kMostText, memory_left() / kParsedRatio);
  auto source = trace::Source::open(file);
  if (!source) return std::unexpected(source.error());
  std::string text;
  std::array<char, 64 * 1024> piece;
  for (;;) {
    const auto got = source->read(piece);
    if (!got) return std::unexpected(got.error());
    text.append(piece.data(), *got);
    if (text.size() > most) return std::unexpected(unusable("the recorded program is too large to be one", file));
    if (*got < piece.size()) return text;
  }
}

std::optional<std::int64_t> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

// How much longer than these steps of a few updates the one is that is shown everywhere, which is of many.
double as_shown(const std::vector<Ns>& steps, const fs::path& bundle, const profile::Manifest& manifest) {
  const auto shown = profile::shown_step(bundle, manifest);
  if (!shown || steps.empty()) return 1;
  constexpr double kMost = 100;  // times as long: no two ways of timing one loop differ by so much
  const auto median = static_cast<double>(profile::sample(steps).median.count());
  const double ratio = median > 0 ? static_cast<double>(shown->count()) / median : 0;
  return ratio < 1 / kMost || ratio > kMost ? 1 : ratio;
}

Ns times(Ns time, double ratio) {
  return Ns{std::llround(static_cast<double>(time.count()) * ratio)};
}

// `known`: the batch size that the manifest gives this program.
Result<Recorded> read_program(const profile::Manifest& manifest, const fs::path& file, std::optional<std::int64_t> known,
                              const fs::path& bundle) {
  const auto text = inflated(bundle, file);
  if (!text) return std::unexpected(text.error());
  Recorded recorded{.id = manifest.id,
                    .torch = manifest.torch,
                    .argv = manifest.argv,
                    .steps = manifest.plain_steps,
                    .faults = profile::usual(manifest.plain_faults),
                    .document = json::parse(*text, nullptr, false)};
  const json& document = recorded.document;
  if (!document.is_object())
    return std::unexpected(Error{ErrorCode::malformed, "the recorded program is broken; record it again", file.string()});
  if (const auto refused = document.find("refused"); refused != document.end() && refused->is_string()) {
    return std::unexpected(unusable("this step cannot be replayed: " + refused->get<std::string>(), bundle));
  }
  const std::int64_t own = number(document, "batch_size").value_or(manifest.samples_per_step.value_or(0));
  const std::int64_t batch = known.value_or(own);
  const auto allocator = document.find("allocator");
  const bool measured = allocator != document.end() && allocator->is_object();
  const std::int64_t peak = measured ? number(*allocator, "peak_bytes").value_or(0) : 0;
  if (peak <= 0) return std::unexpected(unusable("the recorded program has no peak to check a replay with; record it again", bundle));
  recorded.batch = std::max<std::int64_t>(batch, 0);
  if (const std::int64_t one = manifest.batch_size.value_or(0); one > 0) {
    recorded.batches = std::max<std::int64_t>(manifest.samples_per_step.value_or(one) / one, 1);
  }
  recorded.peak = Bytes{peak};
  const auto device = document.find("device");
  recorded.on_cpu = device == document.end() || !device->is_string() || !device->get_ref<const std::string&>().starts_with("cuda");
  if (recorded.on_cpu) recorded.fetching = profile::median(manifest.plain_fetching);
  return recorded;
}

}  // namespace

Result<Recorded> read_step(const fs::path& bundle) {
  const auto manifest = profile::read_manifest(bundle);
  if (!manifest) return std::unexpected(manifest.error());
  if (!manifest->program) {
    return std::unexpected(
        unusable("this profile has no recorded program to predict from: its script ended, or was stopped, before the last "
                 "step that is looked at; give `hotlens run` more steps of it",
                 bundle));
  }
  const auto& sized = manifest->sized_programs;
  auto recorded = read_program(*manifest, *manifest->program, sized.empty() ? std::nullopt : std::optional(sized.front().was), bundle);
  if (!recorded) return recorded;
  const double ratio = as_shown(recorded->steps, bundle, *manifest);
  for (Ns& step : recorded->steps) step = times(step, ratio);
  recorded->fetching = times(recorded->fetching, ratio);
  return recorded;
}

Result<Recorded> read_recorded(const fs::path& bundle) {
  auto recorded = read_step(bundle);
  if (!recorded || recorded->batch > 0) return recorded;
  return std::unexpected(unusable(
      "the batch size of this profile is not known: no DataLoader feeds the steps; say it with `hotlens run --batch-sizes`", bundle));
}

std::vector<Recorded> read_sized(const fs::path& bundle) {
  std::vector<Recorded> found;
  const auto manifest = profile::read_manifest(bundle);
  if (!manifest) return found;
  for (const profile::SizedProgram& sized : manifest->sized_programs) {
    if (auto recorded = read_program(*manifest, sized.file, sized.batch_size, bundle); recorded && recorded->batch > 0)
      found.push_back(std::move(*recorded));
  }
  return found;
}

Result<std::vector<Recorded>> read_varied(const fs::path& bundle, const std::string& name) {
  const auto manifest = profile::read_manifest(bundle);
  if (!manifest) return std::unexpected(manifest.error());
  auto measured = read_step(bundle);
  if (!measured) return std::unexpected(measured.error());
  std::vector<Recorded> steps;
  steps.push_back(std::move(*measured));
  for (const profile::VariedProgram& varied : manifest->varied_programs) {
    if (varied.name != name) continue;
    auto recorded = read_program(*manifest, varied.file, varied.value, bundle);
    if (!recorded) return std::unexpected(recorded.error());
    steps.front().batch = varied.was;
    steps.push_back(std::move(*recorded));
  }
  return steps;
}

}  // namespace hotlens::lab

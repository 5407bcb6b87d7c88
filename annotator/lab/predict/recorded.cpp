#include "annotator/lab/predict/recorded.h"

#include <array>
#include <optional>

#include "annotator/profile/bundle/bundle.h"
#include "annotator/trace/source.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The recorder writes at most 5 MB, which is some sixteen times as much text.
constexpr std::size_t kMostText = std::size_t{256} << 20;

Error unusable(const std::string& what, const fs::path& where) {
  return {ErrorCode::unsupported, what, where.string()};
}

Result<std::string> inflated(const fs::path& file) {
  auto source = trace::Source::open(file);
  if (!source) return std::unexpected(source.error());
  std::string text;
  std::array<char, 64 * 1024> piece;
  for (;;) {
    const auto got = source->read(piece);
    if (!got) return std::unexpected(got.error());
    text.append(piece.data(), *got);
    if (text.size() > kMostText) return std::unexpected(unusable("the recorded program is too large to be one", file));
    if (*got < piece.size()) return text;
  }
}

std::optional<std::int64_t> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

}  // namespace

Result<Recorded> read_recorded(const fs::path& bundle) {
  const auto manifest = profile::read_manifest(bundle);
  if (!manifest) return std::unexpected(manifest.error());
  if (!manifest->program) {
    return std::unexpected(unusable("this profile has no recorded program to predict from; record one with `hotlens run` again", bundle));
  }
  const auto text = inflated(*manifest->program);
  if (!text) return std::unexpected(text.error());
  Recorded recorded{
      .id = manifest->id, .torch = manifest->torch, .steps = manifest->plain_steps, .document = json::parse(*text, nullptr, false)};
  const json& document = recorded.document;
  if (!document.is_object())
    return std::unexpected(Error{ErrorCode::malformed, "the recorded program is broken; record it again", manifest->program->string()});
  if (const auto refused = document.find("refused"); refused != document.end() && refused->is_string()) {
    return std::unexpected(unusable("this step cannot be replayed: " + refused->get<std::string>(), bundle));
  }
  const auto batch = number(document, "batch_size") ? number(document, "batch_size") : manifest->samples_per_step;
  const auto allocator = document.find("allocator");
  const auto peak = allocator != document.end() && allocator->is_object() ? number(*allocator, "peak_bytes") : std::nullopt;
  if (!batch || *batch <= 0) {
    return std::unexpected(unusable(
        "the batch size of this profile is not known: no DataLoader feeds the steps; say it with `hotlens run --batch-sizes`", bundle));
  }
  if (!peak || *peak <= 0)
    return std::unexpected(unusable("the recorded program has no peak to check a replay with; record it again", bundle));
  recorded.batch = *batch;
  recorded.peak = Bytes{*peak};
  return recorded;
}

}  // namespace hotlens::lab

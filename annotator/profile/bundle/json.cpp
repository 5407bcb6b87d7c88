#include "annotator/profile/bundle/json.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "annotator/attribution/owners/owners.h"
#include "annotator/common/file.h"
#include "annotator/common/memory.h"

namespace hotlens::profile::json {
namespace {

// A parsed document takes up to so many times its text.
constexpr std::size_t kParsedRatio = 16;

bool has_a_part_of_a_bundle(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name == "manifest.json" || name == "model.json" || name.starts_with("trace-")) return true;
  }
  return false;
}

Error no_such_part(const std::filesystem::path& folder, const std::filesystem::path& file) {
  if (!has_a_part_of_a_bundle(folder)) {
    return {ErrorCode::not_found, "this folder is no bundle of Hotlens; name a bundle, a trace file, or `latest`", folder.string()};
  }
  return {ErrorCode::not_found, "the bundle lacks this file: it is half written; run `hotlens run` again", file.string()};
}

// A version as packages have one: it stands in a command that somebody pastes into a shell.
bool is_version(std::string_view text) {
  const auto allowed = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.'; };
  return text.size() <= 30 && !text.empty() && text.front() >= '0' && text.front() <= '9' && std::ranges::all_of(text, allowed);
}

}  // namespace

Error broken(const std::filesystem::path& file, std::string message) {
  return {ErrorCode::malformed, std::move(message), file.string()};
}

Result<Document> read_json(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path file = folder / name;
  const Result<std::string> bytes = read_file_inside(folder, file, memory_left() / kParsedRatio);
  if (!bytes) return std::unexpected(bytes.error().code == ErrorCode::not_found ? no_such_part(folder, file) : bytes.error());
  Document read{.parser = std::make_unique<simdjson::dom::parser>(), .json = {}};
  const simdjson::error_code error = read.parser->parse(*bytes).get(read.json);
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) return std::unexpected(out_of_memory(file.string()));
  if (error != simdjson::SUCCESS || !read.json.is_object()) {
    return std::unexpected(broken(file, "this file is cut short or not JSON: the bundle is half written; run `hotlens run` again"));
  }
  return read;
}

std::optional<Json> member(const Json& object, std::string_view key) {
  Json found;
  return object.at_key(key).get(found) == simdjson::SUCCESS ? std::optional(found) : std::nullopt;
}

std::string text(const Json& object, std::string_view key) {
  std::string_view found;
  const auto at = member(object, key);
  return at && at->get(found) == simdjson::SUCCESS ? std::string(found) : std::string();
}

bool flag(const Json& object, std::string_view key) {
  bool found = false;
  const auto at = member(object, key);
  return at && at->get(found) == simdjson::SUCCESS && found;
}

Result<void> check_schema(const Json& json, std::string_view kind, int supported, const std::filesystem::path& file) {
  const std::string schema = text(json, "schema");
  const std::string prefix = "hotlens." + std::string(kind) + "/";
  int version = 0;
  const char* end = schema.data() + schema.size();
  if (!schema.starts_with(prefix) || std::from_chars(schema.data() + prefix.size(), end, version).ptr != end) {
    return std::unexpected(broken(file, "this is not a Hotlens bundle (no schema \"" + prefix + std::to_string(supported) + "\")"));
  }
  if (version > supported) {
    const std::string writer = text(json, "hotlens");
    const std::string wanted = is_version(writer) ? "Hotlens " + writer + " or newer" : "a newer Hotlens";
    return std::unexpected(
        Error{ErrorCode::unsupported, "this was written by a newer Hotlens (" + schema + "); install " + wanted, file.string()});
  }
  return {};
}

std::optional<std::int64_t> whole(const Json& object, std::string_view key) {
  std::int64_t found = 0;
  const auto at = member(object, key);
  return at && at->get(found) == simdjson::SUCCESS ? std::optional(found) : std::nullopt;
}

std::vector<Json> elements(const Json& object, std::string_view key) {
  simdjson::dom::array found;
  const std::optional<Json> at = member(object, key);
  if (!at || at->get(found) != simdjson::SUCCESS) return {};
  return {found.begin(), found.end()};
}

std::optional<Bytes> size(const Json& object, std::string_view key) {
  const std::optional<std::int64_t> value = whole(object, key);
  if (!value || *value < 0 || *value > kMostBytes) return std::nullopt;
  return Bytes{*value};
}

std::optional<std::uint32_t> small(const Json& object, std::string_view key) {
  const std::optional<std::int64_t> value = whole(object, key);
  if (!value || *value < 0 || std::cmp_greater_equal(*value, attribution::kNothing)) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::vector<Json> objects(const Json& object, std::string_view key) {
  std::vector<Json> list = elements(object, key);
  std::erase_if(list, [](const Json& element) { return !element.is_object(); });
  return list;
}

std::vector<std::int64_t> whole_numbers(const Json& object, std::string_view key) {
  std::vector<std::int64_t> list;
  for (const Json& element : elements(object, key)) {
    if (std::int64_t value = 0; element.get(value) == simdjson::SUCCESS) list.push_back(value);
  }
  return list;
}

std::optional<std::filesystem::path> contained(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path relative = std::filesystem::path(name).lexically_normal();
  const bool names_a_file = relative.has_filename() && relative != "." && *relative.begin() != "..";
  if (!names_a_file || relative.is_absolute() || name.contains('\0')) return std::nullopt;
  return folder / relative;
}

}  // namespace hotlens::profile::json

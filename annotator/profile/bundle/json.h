// What every file of a bundle is read with: the file as parsed JSON, and members that are what they should be, or nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "annotator/common/error.h"
#include "annotator/common/units.h"

namespace hotlens::profile::json {

using Json = simdjson::dom::element;

// A parsed file; the parser owns what `json` points into.
struct Document {
  std::unique_ptr<simdjson::dom::parser> parser;
  Json json;
};

// More than any device holds, and so little that sums of it stay sums.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;

Error broken(const std::filesystem::path& file, std::string message);
// A file of at most what memory holds, inside the folder.
Result<Document> read_json(const std::filesystem::path& folder, const std::string& name);
// `kind` and `supported`: "hotlens.bundle/1" is version 1 of "bundle".
Result<void> check_schema(const Json& json, std::string_view kind, int supported, const std::filesystem::path& file);

// The member of an object; nothing where `object` is something else or lacks it.
std::optional<Json> member(const Json& object, std::string_view key);
std::string text(const Json& object, std::string_view key);
bool flag(const Json& object, std::string_view key);
std::optional<std::int64_t> whole(const Json& object, std::string_view key);
std::optional<Bytes> size(const Json& object, std::string_view key);
std::optional<std::uint32_t> small(const Json& object, std::string_view key);  // an id
// The elements of an array; none of anything else.
std::vector<Json> elements(const Json& object, std::string_view key);
// Those that are objects.
std::vector<Json> objects(const Json& object, std::string_view key);
// Those that are whole numbers.
std::vector<std::int64_t> whole_numbers(const Json& object, std::string_view key);
// A file's name inside the bundle; a manifest may not point out of its folder. Links are looked at when the file is read.
std::optional<std::filesystem::path> contained(const std::filesystem::path& folder, const std::string& name);

}  // namespace hotlens::profile::json

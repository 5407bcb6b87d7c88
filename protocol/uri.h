// file: URIs and paths. Replies use the client's own spelling of a URI; these are for finding the file behind it and for files we name.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hotlens::protocol {

// Nullopt for any other scheme, for a remote authority and for broken percent escapes: not a file of ours.
std::optional<std::filesystem::path> path_of_uri(std::string_view uri);
std::string uri_of_path(const std::filesystem::path& path);

}  // namespace hotlens::protocol

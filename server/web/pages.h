// The page's own files: names from the outside to files of one folder, and nothing else.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hotlens::web {

struct Page {
  std::string body;
  std::string_view type;  // Content-Type
};

// `path` as in a request, "/" for the page itself. Nullopt for everything that is no regular file below the folder with a plain name: no
// folders, no hidden names, no links out of it, nothing of a type that the page does not use.
std::optional<Page> read_page(const std::filesystem::path& folder, std::string_view path);

// The page with `json` as the content of its element for first answers; unchanged where the page has none or `json` is empty. No text in
// `json` can end the element.
std::string with_first_answers(std::string page, std::string_view json);

// What is shown while the page is not built.
Page missing_page();

// The folder with the page beside the program, in the build tree and in an installation.
std::filesystem::path find_pages();

}  // namespace hotlens::web

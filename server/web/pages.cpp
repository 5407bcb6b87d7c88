#include "server/web/pages.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "annotator/common/own_program.h"

namespace hotlens::web {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxFile = 16 << 20;
constexpr std::size_t kMaxPath = 200;
constexpr std::string_view kFirstAnswers = R"(<script type="application/json" id="first">)";

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".json", "application/json"},
    {".woff2", "font/woff2"},
}};

std::string_view type_of(const fs::path& file) {
  const std::string extension = file.extension().string();
  const auto* type = std::ranges::find(kTypes, std::string_view(extension), &std::pair<std::string_view, std::string_view>::first);
  return type == kTypes.end() ? std::string_view() : type->second;
}

bool plain(std::string_view path) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '/';
  };
  return path.size() <= kMaxPath && path.starts_with('/') && std::ranges::all_of(path, allowed) &&
         path.find("/.") == std::string_view::npos && path.find("//") == std::string_view::npos;
}

bool is_below(const fs::path& file, const fs::path& folder) {
  const auto [end, rest] = std::ranges::mismatch(folder, file);
  return end == folder.end();
}

}  // namespace

std::optional<Page> read_page(const fs::path& folder, std::string_view path) {
  if (path == "/") path = "/index.html";
  if (!plain(path)) return std::nullopt;
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return std::nullopt;
  const fs::path file = fs::canonical(root / fs::path(path.substr(1)), error);
  if (error || !is_below(file, root) || !fs::is_regular_file(file, error)) return std::nullopt;
  const std::string_view type = type_of(file);
  if (type.empty() || fs::file_size(file, error) > kMaxFile || error) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return Page{std::string(std::istreambuf_iterator<char>(in), {}), type};
}

std::string with_first_answers(std::string page, std::string_view json) {
  const std::size_t element = page.find(kFirstAnswers);
  if (json.empty() || element == std::string::npos) return page;
  std::string text;
  text.reserve(json.size());
  // In JSON this letter stands in strings only, where it may be escaped.
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return page.insert(element + kFirstAnswers.size(), text);
}

Page missing_page() {
  return {
      "<!doctype html><meta charset=\"utf-8\"><title>Hotlens</title><h1>The timeline's page is not built</h1>"
      "<p>Build it with <code>npm ci &amp;&amp; npm run build</code> in <code>editor_clients/timeline</code>, then load this page "
      "again.</p>",
      "text/html; charset=utf-8"};
}

fs::path find_pages() {
  return own_program().value_or(fs::path()).parent_path().parent_path() / "share" / "hotlens" / "timeline";
}

}  // namespace hotlens::web

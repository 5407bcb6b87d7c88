#include "server/runs/configurations.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "annotator/common/file.h"
#include "server/runs/kept_files.h"
#include "server/runs/launchers.h"

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;  // what people wrote keeps its order

constexpr std::string_view kRunsSchema = "hotlens.runs/1";
constexpr std::string_view kConfigurationsName = "runs.json";

Error wrong(const fs::path& file, const std::string& what) {
  return {ErrorCode::malformed, file.string() + ": " + what + ". Correct the file and profile again.", file.string()};
}

Result<OrderedJson> parse(const fs::path& file, const std::string& text) {
  try {
    return OrderedJson::parse(text);
  } catch (const OrderedJson::parse_error& error) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size())), '\n');
    return std::unexpected(wrong(file, "line " + std::to_string(line) + " is not JSON"));
  }
}

// The whole file, with the list "runs" in it.
Result<OrderedJson> read_document(const fs::path& file) {
  auto text = read_file(file, kMostKeptBytes);
  if (!text) return std::unexpected(wrong(file, text.error().message));
  auto document = parse(file, *text);
  if (!document) return document;
  if (!document->is_object()) return std::unexpected(wrong(file, "an object with the list `runs` is expected"));
  const auto schema = document->find("schema");
  if (schema != document->end() && *schema != kRunsSchema) {
    return std::unexpected(wrong(file, "`schema` is not `" + std::string(kRunsSchema) + "`, the only one that this version reads"));
  }
  const auto runs = document->find("runs");
  if (runs == document->end() || !runs->is_array()) return std::unexpected(wrong(file, "`runs` must be a list"));
  return document;
}

// One entry of the list; remembers the first thing that is wrong with it.
class RunEntryReader {
 public:
  RunEntryReader(const fs::path& folder, const OrderedJson& entry, std::size_t number)
      : folder_(folder), entry_(entry), at_("runs[" + std::to_string(number) + "]") {}

  Result<Configuration> read() {
    if (!entry_.is_object()) return std::unexpected(wrong(file(), at_ + " must be an object"));
    refuse_unknown_keys();
    Configuration made{.file = file(),
                       .name = text("name"),
                       .module = text("module"),
                       .arguments = text("arguments"),
                       .launcher = text("launcher"),
                       .python = text("python")};
    if (const auto launcher = launcher_command(made.launcher); !launcher) complain(at_ + ".launcher", launcher.error().message);
    if (const std::string script = text("script"); !script.empty()) made.script = (folder_ / script).lexically_normal();
    if (made.script.empty() == made.module.empty()) complain(at_, "needs either `script` or `module`");
    made.directory = without_slash((folder_ / text("directory")).lexically_normal());
    made.environment = environment();
    if (wrong_) return std::unexpected(*wrong_);
    return made;
  }

 private:
  fs::path file() const { return configurations_file(folder_); }
  static fs::path without_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

  void complain(const std::string& where, const std::string& what) {
    if (!wrong_) wrong_ = wrong(file(), where + " " + what);
  }

  // A key with a slip in it would be left out silently.
  void refuse_unknown_keys() {
    static constexpr std::array<std::string_view, 8> kKnown{"name",      "script",      "module", "arguments",
                                                            "directory", "environment", "python", "launcher"};
    for (const auto& [key, value] : entry_.items()) {
      if (std::ranges::find(kKnown, key) == kKnown.end()) complain(at_, "has the unknown key `" + key + "`");
    }
  }

  std::string text(const char* key) {
    const auto found = entry_.find(key);
    if (found == entry_.end()) return {};
    const bool fits = found->is_string() && !found->get_ref<const std::string&>().contains('\0');
    if (!fits) complain(at_ + "." + key, "must be text");
    return fits ? found->get<std::string>() : std::string();
  }

  std::vector<std::pair<std::string, std::string>> environment() {
    std::vector<std::pair<std::string, std::string>> list;
    const auto found = entry_.find("environment");
    if (found == entry_.end()) return list;
    const std::string where = at_ + ".environment";
    if (!found->is_object()) return complain(where, "must be an object of texts"), list;
    for (const auto& [name, value] : found->items()) {
      const bool fits = value.is_string() && !value.get_ref<const std::string&>().contains('\0');
      if (name.empty() || name.contains('=') || name.contains('\0')) {
        complain(where, "has a name that no variable can have");
      } else if (!fits) {
        complain(where + "." + name, "must be text, in quotes");
      } else {
        list.emplace_back(name, value.get<std::string>());
      }
    }
    return list;
  }

  const fs::path& folder_;
  const OrderedJson& entry_;
  std::string at_;
  std::optional<Error> wrong_;
};

// pkg.train is pkg/train.py, or pkg/train/__main__.py.
bool is_module(const Configuration& configuration, const fs::path& script) {
  if (configuration.module.empty()) return false;
  std::string name = configuration.module;
  std::ranges::replace(name, '.', '/');
  const fs::path at = configuration.directory / name;
  return script == at.string() + ".py" || script == at / "__main__.py";
}

// "train.py" for /w/train.py in /w; the whole path of what lies elsewhere.
std::string name_in(const fs::path& folder, const fs::path& script) {
  const bool inside = std::ranges::mismatch(folder, script).in1 == folder.end();
  return inside ? script.lexically_relative(folder).string() : script.string();
}

Result<OrderedJson> document_to_change(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(configurations_file(folder), ignored)) return read_document(configurations_file(folder));
  return OrderedJson{{"schema", kRunsSchema}, {"runs", OrderedJson::array()}};
}

}  // namespace

std::string Configuration::summary() const {
  std::string text = launcher;
  for (const std::string& part : {module.empty() ? script.filename().string() : "-m " + module, arguments}) {
    if (!part.empty()) text.append(text.empty() ? "" : " ").append(part);
  }
  return text;
}

fs::path configurations_file(const fs::path& folder) {
  return folder / ".hotlens" / kConfigurationsName;
}

Result<std::vector<Configuration>> read_configurations(const fs::path& folder) {
  const fs::path file = configurations_file(folder);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::vector<Configuration>{};
  const auto document = read_document(file);
  if (!document) return std::unexpected(document.error());
  std::vector<Configuration> list;
  for (const OrderedJson& entry : document->at("runs")) {
    auto read = RunEntryReader(folder, entry, list.size()).read();
    if (!read) return std::unexpected(read.error());
    const auto is_same = [&](const Configuration& other) {
      return other.script == read->script && other.module == read->module && other.name == read->name;
    };
    if (std::ranges::any_of(list, is_same)) {
      return std::unexpected(wrong(file, "runs[" + std::to_string(list.size()) +
                                             "] is for a script that an entry before it has: give each of them a `name` of its own"));
    }
    list.push_back(std::move(*read));
  }
  return list;
}

bool runs_script(const Configuration& configuration, const fs::path& script) {
  return configuration.script == script || is_module(configuration, script);
}

namespace {

Result<void> store_text(const fs::path& folder, const Stored& of, const char* key, const std::string& text) {
  const KeptFilesLock lock(folder);
  if (const auto read = read_configurations(folder); !read) return std::unexpected(read.error());
  auto document = document_to_change(folder);
  if (!document) return std::unexpected(document.error());
  OrderedJson& runs = document->at("runs");
  const auto is_it = [&](const OrderedJson& entry) {
    if (entry.value("name", "") != of.name) return false;
    if (!of.module.empty()) return entry.value("module", "") == of.module;
    return entry.contains("script") && (folder / entry["script"].get<std::string>()).lexically_normal() == of.script;
  };
  auto entry = std::ranges::find_if(runs, is_it);
  if (entry == runs.end()) {
    runs.push_back(of.module.empty() ? OrderedJson{{"script", name_in(folder, of.script)}} : OrderedJson{{"module", of.module}});
    entry = runs.end() - 1;
  }
  (*entry)[key] = text;
  return write_kept_file(folder, kConfigurationsName, document->dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

}  // namespace

Result<void> store_arguments(const fs::path& folder, const Stored& of, const std::string& line) {
  return store_text(folder, of, "arguments", line);
}

Result<void> store_python(const fs::path& folder, const Stored& of, const std::string& python) {
  return store_text(folder, of, "python", python);
}

}  // namespace hotlens::runs

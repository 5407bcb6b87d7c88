#include "server/runs/launch_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "annotator/common/file.h"
#include "annotator/common/json_member.h"
#include "server/runs/kept_files.h"
#include "server/runs/launch_variables.h"
#include "server/runs/words.h"

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;  // variables of the environment keep their order

// Of brackets in brackets; what lies deeper has no meaning in the file and is left away.
constexpr int kMostDepth = 20;
// What would run in another way without them.
constexpr std::array<std::string_view, 3> kNotDone{"envFile", "pythonArgs", "pythonPath"};
// Of the Python extension: the editor's own interpreter.
constexpr std::string_view kChosenPython = "${command:python.interpreterPath}";

// Modules that start a script, and the line that starts them (launchers.h).
struct Starter {
  std::string_view module, launcher;
};
constexpr std::array<Starter, 3> kStarters{{{"torch.distributed.run", "python -m torch.distributed.run"},
                                            {"torch.distributed.launch", "python -m torch.distributed.run"},
                                            {"accelerate.commands.launch", "accelerate launch"}}};

fs::path file_of(const fs::path& folder) {
  return folder / ".vscode" / "launch.json";
}

// Blanks instead of what is taken away, so that lines stay where they are.
class Plain {
 public:
  explicit Plain(std::string_view text) : text_(text) {}

  std::string take() && {
    while (at_ < text_.size()) {
      if (text_[at_] == '"') {
        string();
      } else if (text_.compare(at_, 2, "//") == 0) {
        blank_until(std::min(text_.find('\n', at_), text_.size()));
      } else if (text_.compare(at_, 2, "/*") == 0) {
        const std::size_t end = text_.find("*/", at_ + 2);
        blank_until(end == std::string::npos ? text_.size() : end + 2);
      } else {
        other();
      }
    }
    return std::move(text_);
  }

 private:
  void string() {
    comma_.reset();
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    ++at_;
  }

  void blank_until(std::size_t end) {
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') text_[at_] = ' ';
    }
  }

  void other() {
    const char now = text_[at_];
    if ((now == ']' || now == '}') && comma_) text_[*comma_] = ' ';
    if (now == ',') {
      comma_ = at_;
    } else if (!std::string_view(" \t\r\n").contains(now)) {
      comma_.reset();
    }
    ++at_;
  }

  std::string text_;
  std::size_t at_ = 0;
  std::optional<std::size_t> comma_;  // the last character of weight
};

// One entry; remembers the first thing that keeps it from being used.
class LaunchEntryReader {
 public:
  LaunchEntryReader(const LaunchEntry& entry, LaunchPlace place)
      : entry_(OrderedJson::parse(entry.json, nullptr, false)), place_(std::move(place)) {
    // What VS Code takes instead on this system.
    if (entry_.is_object() && entry_.contains("linux") && entry_["linux"].is_object()) {
      const OrderedJson here = entry_["linux"];
      entry_.update(here);
    }
    made_.name = entry.name;
    made_.file = file_of(place_.folder);
    made_.of_vscode = true;
  }

  std::expected<Configuration, std::string> read() && {
    if (std::string why = not_ours(); !why.empty()) return std::unexpected(std::move(why));
    made_.directory = directory();
    if (const std::string program = text("program"); !program.empty()) made_.script = (made_.directory / program).lexically_normal();
    made_.module = text("module");
    if (made_.script.empty() == made_.module.empty()) complain("it has neither `program` nor `module`");
    made_.arguments = arguments();
    made_.python = python();
    made_.environment = environment();
    if (!wrong_.empty()) return std::unexpected(std::move(wrong_));
    return std::move(made_);
  }

 private:
  std::string not_ours() const {
    if (!entry_.is_object()) return "it is no object";
    const std::string type = text_member(entry_, "type"), request = text_member(entry_, "request");
    if (type != "debugpy" && type != "python") return "its type is `" + type + "`";
    if (request != "launch") return "its request is `" + request + "`";
    for (const std::string_view key : kNotDone) {
      const auto found = entry_.find(key);
      if (found != entry_.end() && !found->empty()) return "it has `" + std::string(key) + "`";
    }
    return "";
  }

  void complain(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }

  std::string filled(const std::string& text) {
    if (text.contains('\0')) complain("it holds a character that no argument can have");
    auto made = filled_in(text, place_);
    if (!made) complain(made.error());
    return made.value_or("");
  }

  std::string text(const char* key) {
    const auto found = entry_.find(key);
    if (found == entry_.end() || found->is_null()) return {};
    if (!found->is_string()) complain("its `" + std::string(key) + "` is no text");
    return found->is_string() ? filled(found->get<std::string>()) : std::string();
  }

  fs::path directory() {
    const fs::path path = (place_.folder / text("cwd")).lexically_normal();
    return path.has_filename() ? path : path.parent_path();
  }

  // A list is words; one text is a line, as the terminal would split it.
  std::string arguments() {
    const auto found = entry_.find("args");
    if (found == entry_.end() || found->is_null()) return {};
    if (found->is_string()) {
      const std::string line = filled(found->get<std::string>());
      if (const auto words = split_words(line); !words) complain("in its `args`, " + words.error().message);
      return line;
    }
    std::vector<std::string> words;
    for (const OrderedJson& each : *found) {
      if (!each.is_string()) complain("its `args` are no list of texts");
      if (each.is_string()) words.push_back(filled(each.get<std::string>()));
    }
    return quoted(started(std::move(words)));
  }

  // Where the module is one that starts a script: that script and its own arguments remain.
  std::vector<std::string> started(std::vector<std::string> words) {
    const auto* starter = std::ranges::find(kStarters, made_.module, &Starter::module);
    const auto script = std::ranges::find_if(words, [](const std::string& word) { return word.ends_with(".py"); });
    if (starter == kStarters.end() || script == words.end()) return words;
    made_.module.clear();
    made_.script = (made_.directory / *script).lexically_normal();
    made_.launcher = std::string(starter->launcher);
    if (script != words.begin()) made_.launcher += " " + quoted({words.begin(), script});
    return {script + 1, words.end()};
  }

  // As the debugger takes it: a text, or a list whose first one is the interpreter.
  std::string python() {
    const auto found = entry_.find("python");
    if (found == entry_.end() || found->is_null()) return {};
    if (found->is_array() && found->size() != 1) complain("its `python` has arguments");
    const OrderedJson& one = found->is_array() && !found->empty() ? found->front() : *found;
    if (!one.is_string()) complain("its `python` is no text");
    if (!one.is_string() || one == kChosenPython) return {};
    return filled(one.get<std::string>());
  }

  std::vector<std::pair<std::string, std::string>> environment() {
    std::vector<std::pair<std::string, std::string>> list;
    const auto found = entry_.find("env");
    if (found == entry_.end() || found->is_null()) return list;
    if (!found->is_object()) return complain("its `env` is no object"), list;
    for (const auto& [name, value] : found->items()) {
      if (name.empty() || name.contains('=') || name.contains('\0')) complain("its `env` has a name that no variable can have");
      if (!value.is_string()) complain("its `env." + name + "` is no text");
      if (value.is_string()) list.emplace_back(name, filled(value.get<std::string>()));
    }
    return list;
  }

  OrderedJson entry_;
  LaunchPlace place_;
  Configuration made_;
  std::string wrong_;
};

}  // namespace

std::string without_comments(std::string_view text) {
  return Plain(text).take();
}

LaunchFile read_launch_file(const fs::path& folder) {
  LaunchFile read;
  const auto text = read_file(file_of(folder), kMostKeptBytes);
  if (!text) {
    if (text.error().code != ErrorCode::not_found) read.wrong = text.error().message;
    return read;
  }
  const auto not_too_deep = [](int depth, OrderedJson::parse_event_t, const OrderedJson&) { return depth <= kMostDepth; };
  const OrderedJson document = OrderedJson::parse(without_comments(*text), not_too_deep, false);
  const auto list = document.is_object() ? document.find("configurations") : document.end();
  if (!document.is_object() || list == document.end() || !list->is_array()) {
    read.wrong = "it cannot be understood";
    return read;
  }
  for (const OrderedJson& entry : *list) {
    std::string name = entry.is_object() ? text_member(entry, "name") : "";
    if (name.empty()) name = "entry " + std::to_string(&entry - &list->front() + 1);
    read.entries.push_back({.name = std::move(name), .json = entry.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)});
  }
  return read;
}

std::expected<Configuration, std::string> launched(const LaunchEntry& entry, const fs::path& folder, const fs::path& file) {
  return LaunchEntryReader(entry, {.folder = folder, .file = file}).read();
}

}  // namespace hotlens::runs

// Profiles that were recorded elsewhere: copied from a workspace on another machine (ssh) or on shared storage, whole or not at all.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <iostream>
#include <thread>

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "annotator/common/harmless.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/cli/verbs.h"
#include "server/runs/discovery.h"
#include "server/runs/kept_files.h"
#include "server/runs/run.h"
#include "server/runs/words.h"

namespace hotlens::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStore = ".hotlens/profiles";

// A workspace: on another machine, as scp names it, or a folder here.
struct Source {
  std::string host;  // empty: this machine
  std::string folder;
  std::string spelled;
};

Source source_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const bool remote = colon != std::string::npos && colon > 0 && text.find('/') > colon;
  if (!remote) return {.host = {}, .folder = text, .spelled = text};
  std::string folder = text.substr(colon + 1);
  if (folder.starts_with("~/")) folder.erase(0, 2);  // a shell there would not look for it in quotes
  return {.host = text.substr(0, colon), .folder = folder.empty() ? "." : folder, .spelled = text};
}

// What a recorder calls a bundle, and nothing that a shell or a path could take for something else.
bool is_name(const std::string& text) {
  const auto plain = [](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '-' || each == '_' || each == '.';
  };
  return !text.empty() && text.front() != '.' && text.front() != '-' && !text.ends_with(".partial") && std::ranges::all_of(text, plain);
}

Error cannot(const Source& source, const std::string& why) {
  return {ErrorCode::unreadable, "profiles of " + source.spelled + " cannot be read: " + why, source.spelled};
}

// One of ssh's programs, with what it printed.
Result<std::vector<std::string>> said(const Source& source, const char* program, std::vector<std::string> arguments) {
  const auto path = runs::on_path(program, runs::process_environment());
  if (!path) return std::unexpected(cannot(source, std::string(program) + " is not on PATH; install the OpenSSH client"));
  arguments.insert(arguments.begin(), path->string());
  std::vector<std::string> lines;
  const auto keep = [&](const runs::OutputLine& line) {
    if (!line.is_error) lines.push_back(line.text);
  };
  const runs::RunEnd end = runs::run_blocking({.argv = std::move(arguments)}, {.output = keep});
  if (end.cancelled) return std::unexpected(Error{ErrorCode::cancelled, "stopped", {}});
  if (end.error) return std::unexpected(*end.error);
  if (end.exit_code != 0) return std::unexpected(cannot(source, end.tail.empty() ? std::string(program) + " failed" : end.tail.back()));
  return lines;
}

// The bundles there, newest first: names begin with the time of the run.
Result<std::vector<std::string>> names_at(const Source& source) {
  std::vector<std::string> names;
  if (source.host.empty()) {
    std::error_code error;
    if (!fs::is_directory(source.folder, error)) return std::unexpected(cannot(source, "there is no such folder"));
    for (const fs::path& bundle : profile::bundles_in(source.folder)) names.push_back(bundle.filename().string());
  } else {
    auto listed = said(source, "ssh", {"--", source.host, runs::quoted({"ls", "-1", "--", source.folder + "/" + std::string(kStore)})});
    if (!listed) return std::unexpected(listed.error());
    names = std::move(*listed);
  }
  std::erase_if(names, [](const std::string& name) { return !is_name(name); });
  std::ranges::sort(names, std::ranges::greater{});
  return names;
}

Result<void> copy(const Source& source, const std::string& name, const fs::path& to) {
  if (!source.host.empty()) {
    const std::string from = source.host + ":" + source.folder + "/" + std::string(kStore) + "/" + name;
    const auto done = said(source, "scp", {"-rq", "--", from, to.string()});
    return done ? Result<void>{} : std::unexpected(done.error());
  }
  const auto bundles = profile::bundles_in(source.folder);
  const auto from = std::ranges::find(bundles, name, [](const fs::path& bundle) { return bundle.filename().string(); });
  std::error_code error;
  if (from == bundles.end()) return std::unexpected(cannot(source, name + " is gone"));
  fs::copy(*from, to, fs::copy_options::recursive | fs::copy_options::skip_symlinks, error);
  if (error) return std::unexpected(cannot(source, error.message()));
  return {};
}

// Goes with what it holds, unless it was moved away.
struct Arriving {
  fs::path path;
  ~Arriving() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

// The time of its step, as the hints will tell it.
Result<std::string> fetch(const Source& source, const std::string& name, const fs::path& into) {
  const Arriving arriving{into / ".hotlens" / ("arriving-" + name)};
  std::error_code error;
  fs::remove_all(arriving.path, error);
  if (auto done = copy(source, name, arriving.path); !done) return std::unexpected(done.error());
  const auto manifest = profile::read_manifest(arriving.path);
  if (!manifest) return std::unexpected(manifest.error());
  const auto step = profile::shown_step(arriving.path, *manifest);
  fs::create_directories(into / kStore, error);
  fs::rename(arriving.path, into / kStore / name, error);
  if (error) return std::unexpected(Error{ErrorCode::unreadable, (into / kStore / name).string() + ": " + error.message(), {}});
  return step ? format::readable(*step) + "/step" : std::string("no step");
}

// How many came.
Result<std::size_t> pull_once(const Source& source, const PullOptions& options) {
  auto names = names_at(source);
  if (!names) return std::unexpected(names.error());
  if (!options.all && names->size() > 1) names->resize(1);
  std::erase_if(*names, [&](const std::string& name) { return fs::exists(options.into / kStore / name); });
  if (names->empty()) return 0;
  if (auto made = runs::make_kept_folder(options.into); !made) return std::unexpected(made.error());
  for (const std::string& name : *names) {
    const auto step = fetch(source, name, options.into);
    if (!step) return std::unexpected(step.error());
    std::cout << fmt::format("{}  {}\n", harmless(name), *step) << std::flush;
  }
  return names->size();
}

}  // namespace

int pull(const PullOptions& options) {
  const Source source = source_of(options.source);
  if (source.host.starts_with('-')) return fail({ErrorCode::usage, "a host's name does not begin with a dash", options.source});
  for (;;) {
    const auto came = pull_once(source, options);
    if (!came && came.error().code == ErrorCode::cancelled) return kDone;
    if (!came && !options.watch) return fail(came.error());
    if (!came) std::cerr << "hotlens: " << harmless(came.error().message) << '\n';
    if (!options.watch) {
      if (*came == 0) std::cerr << "hotlens: nothing new at " << harmless(source.spelled) << '\n';
      return kDone;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(options.every));
  }
}

}  // namespace hotlens::cli

// What Hotlens found on this machine: one line and one fix each.
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "annotator/common/harmless.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/profile/profile.h"
#include "server/cli/verbs.h"
#include "server/lab/build.h"
#include "server/runs/discovery.h"
#include "server/runs/run.h"

namespace hotlens::cli {
namespace {

struct Finding {
  std::string name;
  bool found = false;
  std::string what;
  std::string fix;  // empty where there is nothing to do
};

// What the interpreter says of itself and of its torch, one line of JSON.
constexpr const char* kProbe = R"(
import json, platform
found = {"python": platform.python_version()}
try:
    import torch
    found["torch"] = torch.__version__
    found["threads"] = torch.get_num_threads()
    found["device"] = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"
except Exception as error:
    found["error"] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
)";

nlohmann::json probe(const std::filesystem::path& python) {
  nlohmann::json found;
  runs::run_blocking({.argv = {python.string(), "-c", kProbe}}, {.output = [&](const runs::OutputLine& line) {
                       if (line.is_error) return;
                       auto parsed = nlohmann::json::parse(line.text, nullptr, false);
                       if (parsed.is_object()) found = std::move(parsed);
                     }});
  return found;
}

std::vector<Finding> python_findings(const std::string& setting) {
  const auto python = runs::find_python(setting, std::filesystem::current_path(), runs::process_environment());
  if (!python) return {{"Python", false, python.error().message, "Install Python 3.9 or newer, or name one with --python."}};
  const nlohmann::json found = probe(python->path);
  const std::string place = python->path.string() + " (" + python->origin + ")";
  if (!found.is_object()) return {{"Python", false, place + " does not run", "Name another interpreter with --python."}};
  std::vector<Finding> findings{{"Python", true, found.value("python", "?") + ", " + place, ""}};
  if (found.contains("torch")) {
    findings.push_back({"torch", true,
                        found["torch"].get<std::string>() + ", " + found.value("device", "CPU") + ", " +
                            std::to_string(found.value("threads", 0)) + " threads",
                        ""});
  } else {
    findings.push_back(
        {"torch", false, found.value("error", "not found"), "pip install torch with this interpreter, or name another with --python."});
  }
  return findings;
}

Finding recorder_finding() {
  const auto recorder = runs::find_recorder();
  if (recorder) return {"recorder", true, recorder->string(), ""};
  return {"recorder", false, recorder.error().message, "Install the Hotlens wheel again."};
}

Finding lab_finding(const std::string& setting) {
  const auto python = runs::find_python(setting, std::filesystem::current_path(), runs::process_environment());
  if (!python) return {"lab", false, "without Python there is no torch to predict with", "Name an interpreter with --python."};
  const auto found = lab::look_for_worker(python->path);
  if (found) return {"lab", true, *found, ""};
  return {"lab", false, found.error().message, "Nothing to do: only `hotlens predict` and `whatif` need it."};
}

Finding store_finding() {
  const std::filesystem::path here = std::filesystem::current_path();
  const bool writable = access(here.c_str(), W_OK) == 0;
  const auto latest = profile::resolve("latest", here);
  const std::string newest = latest ? ", newest " + latest->filename().string() : ", no profile yet";
  if (writable) return {"store", true, (here / ".hotlens" / "profiles").string() + newest, latest ? "" : "hotlens run train.py"};
  return {"store", false, here.string() + " cannot be written", "Run from a folder you may write to, or pass --out to hotlens run."};
}

Finding editors_finding() {
  std::string found;
  for (const char* program : {"code", "code-server", "codium", "nvim"}) {
    if (const auto path = runs::on_path(program, runs::process_environment())) found += (found.empty() ? "" : ", ") + path->string();
  }
  if (!found.empty()) return {"editors", true, found, ""};
  return {"editors", false, "neither code nor nvim is on PATH", "Any editor with a language client works: hotlens lsp --stdio"};
}

void print_text(const std::vector<Finding>& findings, bool colour) {
  for (const Finding& finding : findings) {
    std::cout << (finding.found ? "ok      " : "missing ") << bold(finding.name, colour) << std::string(10 - finding.name.size(), ' ')
              << harmless(finding.what) << '\n';
    if (!finding.fix.empty()) std::cout << "                  " << dim("→ " + finding.fix, colour) << '\n';
  }
}

void print_json(const std::vector<Finding>& findings) {
  nlohmann::json out{{"schema", "hotlens.doctor/1"}, {"hotlens", HOTLENS_VERSION}, {"findings", nlohmann::json::array()}};
  for (const Finding& finding : findings) {
    out["findings"].push_back({{"name", finding.name}, {"found", finding.found}, {"what", finding.what}, {"fix", finding.fix}});
  }
  std::cout << out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace

int doctor(const DoctorOptions& options) {
  std::vector<Finding> findings{{"hotlens", true, HOTLENS_VERSION, ""}};
  for (Finding& finding : python_findings(options.python)) findings.push_back(std::move(finding));
  findings.push_back(recorder_finding());
  findings.push_back(lab_finding(options.python));
  findings.push_back(store_finding());
  findings.push_back(editors_finding());
  if (options.format == OutputFormat::json) {
    print_json(findings);
  } else {
    print_text(findings, use_colour(STDOUT_FILENO));
  }
  return kDone;
}

}  // namespace hotlens::cli

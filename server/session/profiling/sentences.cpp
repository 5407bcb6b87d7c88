#include "server/session/profiling/sentences.h"

#include <algorithm>
#include <array>

namespace hotlens::session {
namespace {

struct Stretch {
  runs::Phase phase;
  int begin, end;  // percent of the run
  const char* what;
};
// In the order of most runs; a stretch that comes earlier than its place does not turn the percentage back.
constexpr std::array kStretches{Stretch{runs::Phase::start, 0, 5, "Starting the script"},
                                Stretch{runs::Phase::warmup, 5, 25, "Warming up, step"},
                                Stretch{runs::Phase::plain, 25, 40, "Timing the training, step"},
                                Stretch{runs::Phase::measured, 40, 60, "Measuring each layer, step"},
                                Stretch{runs::Phase::map, 60, 80, "Finding the line of each layer, step"},
                                Stretch{runs::Phase::program, 80, 85, "Noting the step for predictions, step"},
                                Stretch{runs::Phase::write, 85, 95, "Writing the profile"},
                                Stretch{runs::Phase::done, 95, 97, "Reading the profile"}};

// "Warming up, step 2 of 3"; without the number where it is not known.
std::string stretch_words(std::string_view what, const runs::Progress& progress) {
  constexpr std::string_view kNumber = ", step";
  if (!what.ends_with(kNumber)) return std::string(what);
  if (progress.of <= 0) return std::string(what.substr(0, what.size() - kNumber.size()));
  return std::string(what) + " " + std::to_string(progress.step) + " of " + std::to_string(progress.of);
}

std::string ended_sentence(const std::string& name, const runs::RunEnd& end) {
  std::string text = name;
  if (end.signal) {
    text += " was ended by signal " + std::to_string(*end.signal);
  } else if (end.exit_code.value_or(0) == 0) {
    text += " ended before a training step was measured";
  } else {
    text += " ended with exit code " + std::to_string(end.exit_code.value_or(0));
  }
  text += ". Nothing was recorded.";
  if (!end.tail.empty()) text += " Its last line was: " + end.tail.back();
  return text;
}

// What the recorder says where its Python lacks torch, or has an old one.
constexpr std::string_view kNoTorch = "PyTorch ";

// On a command line an option mends it, in an editor a button.
std::string without_option(std::string sentence) {
  constexpr std::string_view kOption = ": --python EXE; or";
  if (const auto at = sentence.find(kOption); at != std::string::npos) sentence.replace(at, kOption.size(), ", or");
  return sentence;
}

std::string failure_sentence(const std::string& name, const runs::Failure& failure) {
  if (failure.type.empty() && !failure.sentence.empty()) return without_option(failure.sentence);
  std::string text = name;
  text.append(" failed: ").append(failure.type);
  if (!failure.message.empty()) text.append(failure.type.empty() ? "" : ": ").append(failure.message);
  return text;
}

// "train.py: error: the following arguments are required: --data", "Error: Missing option '--data'."
std::string refusal(const std::vector<std::string>& tail) {
  for (const std::string mark : {": error: ", "error: ", "Error: ", "ERROR: "}) {
    const auto line = std::ranges::find_if(tail.rbegin(), tail.rend(), [&](const std::string& each) { return each.contains(mark); });
    if (line != tail.rend()) return line->substr(line->find(mark) + mark.size());
  }
  return "";
}

bool says_usage(const std::string& line) {
  return line.starts_with("usage: ") || line.starts_with("Usage: ");
}

std::string refused_sentence(const std::string& name, const runs::RunEnd& end) {
  const std::string why = refusal(end.tail);
  return name + " exited with code " + std::to_string(*end.exit_code) + ": " + (why.empty() ? "it does not accept its arguments." : why);
}

}  // namespace

bool python_unfit(const runs::RunEnd& end) {
  if (end.error) return true;
  if (!end.failure || end.bundle) return false;
  return end.failure->type == "ModuleNotFoundError" || (end.failure->type.empty() && end.failure->sentence.starts_with(kNoTorch));
}

bool refused_arguments(const runs::RunEnd& end) {
  const bool raised = end.failure && !end.failure->type.empty();
  if (end.error || raised || end.bundle || end.exit_code.value_or(0) == 0) return false;
  return *end.exit_code == 2 || std::ranges::any_of(end.tail, says_usage);
}

std::pair<std::string, int> progress_words(const runs::Progress& progress) {
  const auto* stretch = std::ranges::find(kStretches, progress.phase, &Stretch::phase);
  if (stretch == kStretches.end()) return {progress.message, 0};
  const double part = progress.of > 0 ? std::clamp(static_cast<double>(progress.step) / static_cast<double>(progress.of), 0.0, 1.0) : 0.0;
  return {stretch_words(stretch->what, progress), stretch->begin + static_cast<int>(part * (stretch->end - stretch->begin))};
}

std::string timed_words(const std::string& words, std::chrono::seconds elapsed, std::optional<std::chrono::seconds> training, int percent) {
  using std::chrono::seconds;
  constexpr int kBegins = kStretches.front().end, kEnds = kStretches.back().end, kTelling = kBegins + 10;
  const auto spelled = [](seconds time) {
    const auto minutes = time.count() / 60, rest = time.count() % 60;
    return minutes == 0 ? std::to_string(rest) + " s" : std::to_string(minutes) + " min " + std::to_string(rest) + " s";
  };
  if (elapsed < seconds(1)) return words;
  std::string text = words + " · " + spelled(elapsed);
  if (!training || percent < kTelling || percent >= kEnds) return text;
  const seconds left = *training * (kEnds - percent) / (percent - kBegins);
  return left < seconds(1) ? text : text + ", about " + spelled(left) + " left";
}

std::string failure_words(const std::string& name, const runs::RunEnd& end) {
  if (end.error) return end.error->message;
  if (refused_arguments(end)) return refused_sentence(name, end);
  return end.failure ? failure_sentence(name, *end.failure) : ended_sentence(name, end);
}

std::string unsaved_words(const std::vector<std::string>& files) {
  std::string names;
  for (const std::string& file : files) names.append(names.empty() ? "" : ", ").append(file);
  return names + (files.size() == 1 ? " has" : " have") +
         " unsaved changes. The run uses what is on disk; save and profile again to include them.";
}

}  // namespace hotlens::session

#include "annotator/report/functions_text.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "annotator/causes/cause_sums.h"
#include "annotator/trace/python_frame.h"

namespace hotlens::report {
namespace {

using causes::sum;
using format::left;
using format::percent;
using format::readable;
using format::right;
using format::shortened;
using profile::HostFunction;

constexpr std::size_t kMostFunctions = 6;     // of a list; all are in the JSON
constexpr std::int64_t kPart = 100;           // of the step: less is not worth a row
constexpr std::size_t kFunctionColumns = 66;  // a path below sys.path and the function

std::string row(const HostFunction& function, const profile::Profile& profile) {
  std::string text =
      "  " + left(shortened(trace::spelled(function.file, function.line, function.function), kFunctionColumns - 2), kFunctionColumns) +
      right(readable(sum(function.own)), 10) + right(percent(sum(function.own), profile.step_wall()), 9) + "  ";
  for (std::size_t cause = 0; cause < profile::kCauses; ++cause) {
    if (function.own[cause] < sum(function.own) / 10 || function.own[cause] == Ns{}) continue;
    text.append(text.ends_with("  ") ? "" : ", ").append(name(static_cast<profile::Cause>(cause)));
    if (function.own[cause] < sum(function.own)) text.append(" ").append(readable(function.own[cause]));
  }
  return text;
}

void times(std::string_view key, const profile::Causes& causes, JsonText& json) {
  json.object(key, [&] {
    for (std::size_t cause = 0; cause < profile::kCauses; ++cause) {
      if (causes[cause] == Ns{}) continue;
      json.member(std::string(name(static_cast<profile::Cause>(cause))) + "_ns", causes[cause].count());
    }
  });
}

}  // namespace

std::string functions_text(const profile::Profile& profile, const format::Style& style) {
  std::vector<const HostFunction*> most;
  for (const HostFunction& function : profile.host_functions) {
    if (sum(function.own) >= profile.step_wall() / kPart) most.push_back(&function);
  }
  if (most.empty()) return {};
  std::ranges::stable_sort(most, std::ranges::greater{}, [](const HostFunction* function) { return sum(function->own); });
  std::string out = "\n";
  out.append(style.bold)
      .append(profile.has_device() ? "Python functions, idle time of the device in each"
                                   : "Python functions, time beside the operators' own work")
      .append(style.off)
      .append("\n");
  for (const HostFunction* function : most | std::views::take(kMostFunctions)) out.append(row(*function, profile)).append("\n");
  return out;
}

void functions_json(const profile::Profile& profile, JsonText& json) {
  for (const HostFunction& function : profile.host_functions) {
    json.object([&] {
      json.member("file", function.file);
      json.member("line", function.line);
      json.member("function", function.function);
      times("own", function.own, json);
      times("inside", function.inside, json);
    });
  }
}

}  // namespace hotlens::report

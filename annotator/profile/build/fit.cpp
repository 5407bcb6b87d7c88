#include "annotator/profile/build/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace hotlens::profile {
namespace {

using attribution::Blurred;
using attribution::StepFit;

// Below this share of operators with a twin the map step did something else than the measured one.
constexpr double kPoor = 0.9;
constexpr std::size_t kNamed = 3;  // modules in a sentence

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

// Steps for which `holds`, as "step 3" or "steps 3 and 5"; empty where there is none.
template <class Holds>
std::string steps_where(const attribution::Transfer& transfer, const attribution::Steps& steps, Holds holds) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < transfer.steps.size(); ++i) {
    if (holds(transfer.steps[i])) numbers.push_back(std::to_string(steps.spans[i].index));
  }
  if (numbers.empty()) return {};
  return (numbers.size() == 1 ? "step " : "steps ") + listed(numbers);
}

std::string places(const std::vector<Blurred>& blurred, const Model& model) {
  std::vector<std::string> names;
  for (const Blurred& each : blurred) {
    if (names.size() == kNamed) break;
    const bool known = each.module < model.modules.size();
    const std::string& path = known ? model.modules[each.module].path : std::string();
    names.push_back(!known ? "no module" : path.empty() ? "the model" : path);
  }
  return listed(names);
}

bool fits(const StepFit& fit) {
  return fit.operators == 0 || share(fit.found, fit.operators) >= kPoor;
}

// Operators of a step without anything rare, as far as any was measured.
std::size_t usual_operators(const attribution::Transfer& transfer) {
  std::size_t most = 0;
  for (const StepFit& fit : transfer.steps) {
    if (fits(fit)) most = std::max(most, fit.found);
  }
  return most;
}

}  // namespace

double found(const attribution::Transfer& transfer) {
  StepFit sum;
  for (const StepFit& fit : transfer.steps) {
    sum.operators += fit.operators;
    sum.found += fit.found;
  }
  return share(sum.found, sum.operators);
}

void report_fit(const attribution::Transfer& transfer, const attribution::Steps& steps, const Model& model, const Loop* loop,
                Issues& issues) {
  const auto percent = [](double part) { return static_cast<int>(std::floor(part * 100)); };
  const std::size_t usual = loop != nullptr && loop->rare > Ns{} ? usual_operators(transfer) : 0;
  const auto has_rare_work = [&](const StepFit& fit) { return usual > 0 && share(fit.found, usual) >= kPoor; };
  const auto poor = [&](const StepFit& fit) { return !fits(fit) && !has_rare_work(fit); };
  if (const std::string which = steps_where(transfer, steps, poor); !which.empty()) {
    issues.add("poor-alignment", fmt::format("{} ran other operators than the map step; {} % of all operators were found in it", which,
                                             percent(found(transfer))));
  }
  const auto uncertain = [](const StepFit& fit) { return fit.certain < fit.found; };
  const std::string which = steps_where(transfer, steps, uncertain);
  if (which.empty()) return;
  double most = 0;
  for (const StepFit& fit : transfer.steps) most = std::max(most, share(fit.found - fit.certain, fit.operators));
  issues.add("ambiguous-modules",
             fmt::format("in {} equal modules were left out or repeated, and which ones is not known for up to {} % of the operators; "
                         "their time counts for what is around them: {}",
                         which, std::max(1, static_cast<int>(std::ceil(most * 100))), places(transfer.blurred, model)));
}

}  // namespace hotlens::profile

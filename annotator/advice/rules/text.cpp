#include "annotator/advice/rules/text.h"

#include <cmath>

namespace hotlens::rules {
namespace {

using format::harmless;
using format::left;
using format::readable;
using format::right;

constexpr std::size_t kKindColumns = 18;

std::string place(const profile::Finding& finding) {
  if (finding.file.empty()) return {};
  return "  " + harmless(finding.file) + (finding.line ? ":" + std::to_string(*finding.line + 1) : std::string());
}

// Of a step that takes so much, where the change makes it take `ratio` of that.
Ns saved_at(double ratio, Ns step) {
  return Ns{std::llround(static_cast<double>(step.count()) * (1 - ratio))};
}

// As foretold, else at most.
Ns saved_by(const profile::Finding& finding, Ns step) {
  return saved_at(finding.foretold ? finding.foretold->ratio : finding.least_ratio, step);
}

// "at most −12 %: 40.1 ms → 35.3 ms"
std::string outcome(const profile::Finding& finding, Ns step, const format::Style& style) {
  if (finding.only_measured) return gain_words(finding) + ": hotlens whatif " + finding.kind + " --verify";
  const std::string gain = finding.foretold ? about(*finding.foretold) : change_text(finding.least_ratio);
  return (finding.foretold ? "" : "at most ") + std::string(style.faster) + gain + std::string(style.off) + ": " + readable(step) + " → " +
         readable(step - saved_by(finding, step));
}

}  // namespace

std::string change_text(double ratio) {
  const long percent = std::lround((ratio - 1) * 100);
  return percent == 0 ? "0 %" : (percent < 0 ? "−" : "+") + std::to_string(std::abs(percent)) + " %";
}

std::string gain_words(const profile::Finding& finding) {
  if (finding.only_measured) return std::string(kOnlyRunsTell);
  return finding.foretold ? about(*finding.foretold) : "at most " + change_text(finding.least_ratio);
}

std::string about(const profile::Foretold& step) {
  return "≈ " + change_text(step.ratio) + " (" + change_text(step.low) + " to " + change_text(step.high) + ")";
}

std::string evidence_text(const profile::Finding& finding, const profile::Verdict::Evidence& evidence, std::optional<Ns> step) {
  constexpr std::int64_t kTelling = 10;  // one part in so many
  const Ns saved = step ? saved_at(finding.least_ratio, *step) : finding.at_most;
  const bool apart = std::chrono::abs(finding.at_most - saved) * kTelling > saved;
  return evidence.what + ", " + readable(evidence.time) + (apart ? " (profiled)" : "");
}

std::string finding_text(const profile::Finding& finding, Ns step, const format::Style& style) {
  std::string text = std::string(style.bold) + left(finding.kind, kKindColumns) + std::string(style.off) + finding.title + place(finding) +
                     "\n  " + outcome(finding, step, style) + "\n";
  for (const profile::Verdict::Evidence& evidence : finding.evidence) {
    text += "  now: " + harmless(evidence_text(finding, evidence, step)) + "\n";
  }
  for (const std::string& condition : finding.assumes) text += "  if: " + harmless(condition) + "\n";
  if (!finding.note.empty()) text += "  also: " + harmless(finding.note) + "\n";
  return text;
}

std::string findings_text(const profile::Profile& profile, const format::Style& style) {
  std::string text;
  for (const profile::Finding& finding : profile.findings) {
    const std::string gain = right(change_text(finding.least_ratio), 6) + right(readable(finding.at_most), 10);
    text += "  " + left(finding.kind, kKindColumns) + (finding.only_measured ? right("not told", format::width(gain)) : gain) + "  " +
            finding.title + place(finding) + "\n";
  }
  if (const auto& half = profile.sensitivity) {
    text += "  " + std::string(style.dim) + "if kernels took half their time " + change_text(half->kernels) + ", if the host did " +
            change_text(half->host) + std::string(style.off) + "\n";
  }
  if (const auto& less = profile.communication_sensitivity) {
    text += "  " + std::string(style.dim) + "if communication were hidden behind computing " + change_text(less->hidden) +
            ", without communication " + change_text(less->without) + std::string(style.off) + "\n";
  }
  if (text.empty()) return text;
  return "\n" + std::string(style.bold) + "What could help, at most" + std::string(style.off) + "\n" + text;
}

namespace {

void write_gain(JsonText& json, const profile::Finding& finding, Ns step) {
  const profile::Foretold told = finding.foretold.value_or(profile::Foretold{finding.least_ratio, finding.least_ratio, 1});
  const std::int64_t saved = saved_by(finding, step).count();
  json.member("bound", !finding.foretold);
  json.member("ratio", told.ratio);
  json.member("low", told.low);
  json.member("high", told.high);
  json.member("step_was_ns", step.count());
  json.member("step_ns", step.count() - saved);
  json.member("saved_ns", saved);
}

}  // namespace

void write_finding(JsonText& json, const profile::Finding& finding, Ns step) {
  json.member("kind", finding.kind);
  json.member("title", finding.title);
  if (!finding.file.empty()) json.member("file", finding.file);
  if (finding.line) json.member("line", *finding.line);
  json.member("method", std::string_view("profile"));
  if (!finding.only_measured) write_gain(json, finding, step);
  json.array("evidence", [&] {
    for (const profile::Verdict::Evidence& evidence : finding.evidence) {
      json.object([&] {
        json.member("what", evidence.what);
        json.member("ns", evidence.time.count());
      });
    }
  });
  json.array("assumes", [&] {
    for (const std::string& condition : finding.assumes) json.element(condition);
  });
  if (!finding.note.empty()) json.member("note", finding.note);
  json.member("state", std::string_view("open"));
}

}  // namespace hotlens::rules

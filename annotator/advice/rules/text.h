// Findings as people and as scripts read them (annotator/report/FORMATS.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/profile/profile.h"

namespace hotlens::rules {

// A section of the report: one row each, and what the step is sensitive to. Empty where nothing was found.
std::string findings_text(const profile::Profile& profile, const format::Style& style);

// One change with its evidence; `step`: what a step takes without it, profiled or not. The gain is the same part of both.
std::string finding_text(const profile::Finding& finding, Ns step, const format::Style& style);

// "the device idles, 71.4 ms (profiled)": evidence is of the profiled step, which is said beside a `step` of another length.
std::string evidence_text(const profile::Finding& finding, const profile::Verdict::Evidence& evidence, std::optional<Ns> step);

// Members of an object: those of an item of hotlens.whatif/1.
void write_finding(JsonText& json, const profile::Finding& finding, Ns step);

// Of a change whose gain no recording tells.
constexpr std::string_view kOnlyRunsTell = "only runs tell how much";
// "at most −12 %", or what is foretold, or that.
std::string gain_words(const profile::Finding& finding);
// "≈ −34 % (−43 % to −24 %)"
std::string about(const profile::Foretold& step);

// "−12 %", "0 %"
std::string change_text(double ratio);

}  // namespace hotlens::rules

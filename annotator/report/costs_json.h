// Costs and launches in hotlens.report/1 (FORMATS.md).
#pragma once

#include "annotator/common/json_text.h"
#include "annotator/report/cost_card.h"

namespace hotlens::report {

// The members `costs` and `launches` of the report, where they are known.
void costs_json(const profile::Profile& profile, const Beside& beside, const std::optional<CostCard>& card, JsonText& json);

// The members `costs` and `headroom` of a module.
void module_costs_json(const profile::Profile& profile, profile::ModuleId module, const std::optional<CostCard>& card, JsonText& json);

}  // namespace hotlens::report

// Names that an edit needs where it stands: what a file imports them as, and one import more where it does not.
//
// An import counts where it has run when the edit's line runs: above it, in no other function, not under `if TYPE_CHECKING:`. A new one
// goes below the imports above the edit, behind a docstring and `from __future__`.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/advice/edits/syntax.h"

namespace hotlens::advice {

// "F" for torch.nn.functional; empty: it has no name there.
std::string name_at(const PythonText& text, std::string_view what, const Span& place);

// The import of `needs` ("torch", "torch.nn.ReLU") for all of these edits; nullopt: none is missing. The error, a sentence without its
// stop: why there can be none, such as another thing of that name.
std::expected<std::optional<Replacement>, std::string> missing_import(const PythonText& text, std::span<const Replacement> edits,
                                                                      std::span<const std::string> needs);

}  // namespace hotlens::advice

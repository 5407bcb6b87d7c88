// The DataLoaders that a script makes, and the names that it gives them.
#pragma once

#include <string_view>
#include <vector>

#include "annotator/advice/edits/script.h"

namespace hotlens::advice {

std::vector<Found> data_loaders(const Script& script);

// "loader" of `loader = DataLoader(…)`; empty where the call is no whole right side.
std::string_view target_of(const PythonText& text, const Call& call);

bool has_word(std::string_view text, std::string_view word);

// Of a DataLoader, counted from 0.
struct LoaderOption {
  std::string_view name, off;
  std::size_t position;
};
const Argument* given(const Call& call, const LoaderOption& option);

}  // namespace hotlens::advice

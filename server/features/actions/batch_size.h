// The line that sets the batch size: what other sizes would cost, and the edits that set them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/features/features.h"

namespace hotlens::features {

std::vector<Lens> batch_size_lenses(const FileView& view, const Options& options);
// Of exactly the number, where the text sets a batch size of `was`; nothing where it sets none, or nobody knows which number is meant.
std::optional<TextEdit> batch_size_edit(const source::Tree& tree, std::int64_t was, std::int64_t size);
// The same in a file of settings.
std::optional<TextEdit> batch_size_edit_in_settings(std::string_view text, std::int64_t was, std::int64_t size);
// On that line alone: one edit of exactly the number for each size that was predicted.
std::vector<Action> batch_size_actions(const FileView& view, LineRange lines, const Options& options);

}  // namespace hotlens::features

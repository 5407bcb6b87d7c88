#include "annotator/profile/json_text.h"

#include <nlohmann/json.hpp>

namespace hotlens::profile {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hotlens::profile

// What an object of JSON holds, where it may hold anything.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hotlens {

// Empty where the member is missing or no string.
template <class Json>  // nlohmann::json, or ordered_json
std::string text_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->template get<std::string>() : std::string();
}

}  // namespace hotlens

// A step recorded with three values of a number, of which two pairs are joined by straight lines (join.h), as one program: what is on no
// line is on the parabola through the three, as the elements of a mask are.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hotlens::lab {

// `second`: joined from the recordings at values[0] and values[1]; `third`: from those at values[0] and values[2]. The values differ. The
// error: what follows no such curve.
std::expected<nlohmann::json, std::string> curves(const nlohmann::json& second, const nlohmann::json& third,
                                                  const std::array<std::int64_t, 3>& values);

}  // namespace hotlens::lab

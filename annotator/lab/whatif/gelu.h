// GELU's tanh form by its values: how formulas of it are told, whatever their spelling.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

namespace hotlens::lab {

// 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))): Hendrycks and Gimpel, 2016.
inline double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

// `compute`: a number for a number, or nullopt. People round √(2/π).
template <class Compute>
bool computes_gelu(const Compute& compute) {
  constexpr std::array<double, 6> kSamples{-3, -1.3, -0.4, 0.2, 0.9, 2.1};
  constexpr double kClose = 1e-4;
  return std::ranges::all_of(kSamples, [&](double x) {
    const std::optional<double> value = compute(x);
    return value && std::abs(*value - gelu(x)) <= kClose;
  });
}

}  // namespace hotlens::lab

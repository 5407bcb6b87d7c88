// Where in a tensor an operator reads: `history[step]`, `data[i:i + batch]`.
//
// Such a number counts steps or comes by chance, so it differs between two recordings without following the batch size. Neither time nor
// memory depends on it; how much is read does.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace hotlens::lab {

// Shapes of the tensors of one recording, by number.
class Shapes {
 public:
  // Of the tensors before the step.
  explicit Shapes(const nlohmann::json& document);
  // Of what an operator gives.
  void add(const nlohmann::json& op);
  // Elements of a tensor (`{"t": number}`) along a dimension, which may count from the end; nothing where that is unknown.
  std::optional<std::int64_t> size(const nlohmann::json& tensor, std::int64_t dimension) const;

 private:
  std::map<std::int64_t, nlohmann::json> shapes_;
};

// One operator of two recordings, both reading at one place; nothing where they do already, or where the dimension that is read has another
// size in the other recording.
std::optional<std::pair<nlohmann::json, nlohmann::json>> at_one_place(const nlohmann::json& a, const Shapes& shapes_a,
                                                                      const nlohmann::json& b, const Shapes& shapes_b);

}  // namespace hotlens::lab

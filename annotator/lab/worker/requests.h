// The requests of hotlens-lab, one JSON object a line (annotator/lab/FORMAT.md): what arrives, and what is answered.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "annotator/lab/worker/meter.h"
#include "annotator/lab/worker/replay.h"

namespace hotlens::lab {

class Requests {
 public:
  // `cancelled`: the id of the request that nobody wants any more.
  Requests(Meter& meter, const std::atomic<std::int64_t>& cancelled) : meter_(meter), cancelled_(cancelled) {}

  // Never throws; whatever is wrong with the request is its answer.
  nlohmann::json answer(const nlohmann::json& request);

 private:
  nlohmann::json hello() const;
  nlohmann::json load(const nlohmann::json& request);
  std::optional<nlohmann::json> add(const nlohmann::json& document);  // nullopt: done
  nlohmann::json follow(const nlohmann::json& request, std::int64_t id);
  nlohmann::json step(const nlohmann::json& request, std::int64_t id);

  Meter& meter_;
  const std::atomic<std::int64_t>& cancelled_;
  std::vector<std::unique_ptr<Replay>> replays_;  // as recorded, then edited if one was loaded
};

}  // namespace hotlens::lab

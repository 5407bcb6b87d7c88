// Records of ranks written down as calls: times in microseconds.
#pragma once

#include <chrono>
#include <string>

#include "annotator/ranks/together.h"

namespace hotlens::ranks {

inline Ns us(std::int64_t time) {
  return std::chrono::microseconds(time);
}

class Story {
 public:
  Story(std::int64_t rank, std::int64_t ahead = 0) : ahead_(ahead) { record_.rank = rank; }

  Story& step(std::int64_t index, std::int64_t start, std::int64_t end) {
    record_.steps.push_back({index, us(start + ahead_), us(end - start)});
    return *this;
  }
  Story& collective(std::int64_t start, std::int64_t end, const std::string& operation = "all_reduce", const std::string& group = "0") {
    record_.collectives.push_back({.operation = operation,
                                   .group = group,
                                   .type = "Float",
                                   .group_size = 2,
                                   .elements = 1000,
                                   .bytes = Bytes{4000},
                                   .step = record_.steps.size() - 1,
                                   .start = us(start + ahead_),
                                   .end = us(end + ahead_)});
    record_.moments.insert(record_.moments.end(), {us(start + ahead_), us(end + ahead_)});
    return *this;
  }
  // Before the next collective.
  Story& spent(Doing doing, std::int64_t time) {
    record_.spent.push_back({static_cast<std::uint32_t>(record_.moments.size()), doing, us(time)});
    return *this;
  }
  Story& busy(std::int64_t start, std::int64_t end) {
    record_.busy.push_back({us(start + ahead_), us(end + ahead_)});
    return *this;
  }
  Story& modules(std::vector<std::string> names) {
    record_.modules = std::move(names);
    return *this;
  }
  operator RankRecord() const { return record_; }

 private:
  RankRecord record_;
  std::int64_t ahead_;
};

}  // namespace hotlens::ranks

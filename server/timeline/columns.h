// The blocks of one track as columns of equal length, texts told once: what `level` and `recording` answer (protocol/TIMELINE.md).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "annotator/common/units.h"
#include "protocol/rpc.h"

namespace hotlens::timeline_requests {

// Different texts, each with its position in a list.
class Texts {
 public:
  std::size_t at(std::string_view text);
  protocol::Json take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::size_t> positions_;
  protocol::Json list_ = protocol::Json::array();
};

struct Cell {
  Ns start{}, duration{};
  std::size_t label = 0;  // position in the list that take() is given
  std::string_view kind, stage;
  int direction = 0;
  std::uint32_t count = 1;
  Ns busy{}, whole{}, waiting{};
  std::uint32_t spans = 1;
  std::string segment;
  bool open = false;
};

class Columns {
 public:
  void add(Cell cell);
  protocol::Json take(protocol::Json labels);

 private:
  using Json = protocol::Json;
  Texts kinds_, stages_;
  Json start_ = Json::array(), duration_ = Json::array(), label_ = Json::array(), kind_ = Json::array(), stage_ = Json::array();
  Json direction_ = Json::array(), count_ = Json::array(), segment_ = Json::array(), open_ = Json::array();
  Json busy_ = Json::array(), whole_ = Json::array(), waiting_ = Json::array(), spans_ = Json::array();
};

}  // namespace hotlens::timeline_requests

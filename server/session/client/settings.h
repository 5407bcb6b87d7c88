// The user's settings, from any of the three ways a client has to give them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/json.h"
#include "server/features/words/hint_units.h"

namespace hotlens::session {

// Where a hint stands. Above: as a code lens, for lines that fill the window. Clients that draw hints themselves do as they are told.
enum class HintPlace : std::uint8_t { end_of_line, above };

struct Settings {
  std::string python;
  bool hints_enabled = true;
  double hints_min_percent = 1.0;  // of the step
  int hints_long_line = 120;       // characters; a longer line has its hint before its text; 0: none has
  HintPlace hints_place = HintPlace::end_of_line;
  features::HintUnit hints_unit = features::HintUnit::time;
  bool heat = true;           // marks beside the lines, of clients that draw them
  bool symbols = true;        // the outline with times
  bool predict_edits = true;  // of layers, while somebody types
  std::string trace;          // a trace or bundle to show instead of the newest bundle; relative: to the first workspace folder
  std::string script;
  std::vector<std::string> args;
  std::optional<int> rank;           // of a bundle with several; absent: the one that wrote it
  std::optional<int> warmup, steps;  // absent: the recorder's defaults

  friend bool operator==(const Settings&, const Settings&) = default;
};

struct SettingsRead {
  Settings settings;
  std::vector<std::string> complaints;  // one sentence for each value of a wrong type; the default stands for it
};

// `value` is the section itself, or an object that has it under "hotlens"; keys may be nested or dotted. Absent and null keep `base`.
SettingsRead read_settings(const protocol::Json& value, const Settings& base);

}  // namespace hotlens::session

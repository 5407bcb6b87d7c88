// Numbers beside each other in a label: two digits are enough, and the unit stands once.
#pragma once

#include <string>
#include <string_view>

#include "annotator/common/units.h"

namespace hotlens::features {

struct Unit {
  double ns;
  std::string_view name;  // " ms"
};
Unit unit_of(Ns time);

// "1.2", "12", "<0.1".
std::string number(Ns time, const Unit& unit);

}  // namespace hotlens::features

#include "annotator/lab/program/curves.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace hotlens::lab {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargestOfCurve = std::int64_t{1} << 52;
constexpr const char* kNone = "its numbers follow no line";
constexpr const char* kHuge = "a number is out of all bounds";

// Thrown inside curves() only.
struct NoCurve {
  std::string what;
};

class Curves {
 public:
  explicit Curves(const std::array<std::int64_t, 3>& values) : at_(values) {
    constexpr std::int64_t kMost = std::int64_t{1} << 24;  // its third power times kLargestOfCurve stays in 128 bits
    if (std::ranges::any_of(at_, [](std::int64_t one) { return one > kMost; })) throw NoCurve{kHuge};
  }

  json of(const json& a, const json& b, std::string_view key) const {
    if (is_number(a) && is_number(b)) return curve(a, b, key);
    if (a.type() != b.type() || a.size() != b.size()) throw NoCurve{kNone};
    if (a.is_array()) {
      json both = json::array();
      for (std::size_t at = 0; at < a.size(); ++at) both.push_back(of(a[at], b[at], key));
      return both;
    }
    if (!a.is_object()) return a;
    json both = json::object();
    for (const auto& [name, value] : a.items()) {
      if (name == "slices") continue;
      if (!b.contains(name)) throw NoCurve{kNone};
      both[name] = of(value, b[name], name);
    }
    return both;
  }

 private:
  __extension__ using Wide = __int128;

  static bool is_number(const json& value) { return value.is_number_integer() || (value.is_object() && value.contains("batch")); }

  static Wide value(const json& number, std::int64_t at) {
    if (!number.is_object()) return small(number.get<std::int64_t>());
    const json& line = number["batch"];
    if (line.size() != 3 || line[2].get<std::int64_t>() <= 0) throw NoCurve{kNone};
    return small((Wide{line[0].get<std::int64_t>()} + Wide{line[1].get<std::int64_t>()} * at) / line[2].get<std::int64_t>());
  }

  json curve(const json& a, const json& b, std::string_view key) const {
    if (a == b) return a;
    if (key == "offset" && !(a.is_object() && b.is_object())) return 0;  // where it begins comes by chance
    if (key == "min") return std::min(a, b);
    // Of an index that one more recording shows to be none, what was seen counts.
    if (key == "max" && a.is_object() != b.is_object()) return a.is_object() ? b : a;
    if (key == "max" && !a.is_object()) return std::min(a, b);
    const auto [t0, t1, t2] = at_;
    const Wide v0 = value(a, t0), v1 = value(a, t1), v2 = value(b, t2);
    // Lagrange's polynomial through the three, over one denominator.
    const Wide w0 = v0 * (t1 - t2), w1 = v1 * (t2 - t0), w2 = v2 * (t0 - t1);
    const Wide square = w0 + w1 + w2, slope = -(w0 * (t1 + t2) + w1 * (t0 + t2) + w2 * (t0 + t1));
    const Wide offset = w0 * t1 * t2 + w1 * t0 * t2 + w2 * t0 * t1, denominator = Wide{t0 - t1} * (t0 - t2) * (t1 - t2);
    const Wide common = gcd(gcd(square, slope), gcd(offset, denominator)) * (denominator < 0 ? -1 : 1);
    json parts{small(offset / common), small(slope / common), small(denominator / common)};
    if (square != 0) parts.push_back(small(square / common));
    return {{"batch", std::move(parts)}};
  }

  static Wide gcd(Wide a, Wide b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return b == 0 ? a : gcd(b, a % b);
  }

  static std::int64_t small(Wide number) {
    if (number > kLargestOfCurve || number < -kLargestOfCurve) throw NoCurve{kHuge};
    return static_cast<std::int64_t>(number);
  }

  const std::array<std::int64_t, 3> at_;
};

}  // namespace

std::expected<json, std::string> curves(const json& second, const json& third, const std::array<std::int64_t, 3>& values) {
  try {
    return Curves(values).of(second, third, {});
  } catch (const NoCurve& reason) {
    return std::unexpected(reason.what);
  } catch (const json::exception& reason) {
    return std::unexpected(reason.what());
  }
}

}  // namespace hotlens::lab

#include "annotator/lab/program/join.h"

#include "annotator/lab/program/curves.h"
#include "annotator/lab/program/pairing.h"
#include "annotator/lab/program/positions.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hotlens::lab {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargest = std::int64_t{1} << 52;  // a number that is multiplied below stays in 64 bits

// "batch size 8", "BLOCK = 48".
std::string place_of(const std::string& number, std::int64_t value) {
  return (number.empty() ? "batch size " : number + " = ") + std::to_string(value);
}

// Thrown inside join() only.
struct Differs {
  std::string what;
};

bool is_free(const json& op) {
  return op.is_object() && op.value("op", "") == "hotlens::free";
}

void add_tensors(const json& value, std::vector<std::int64_t>& to) {
  if (value.is_object() && value.contains("t") && value["t"].is_number_integer()) to.push_back(value["t"]);
  if (value.is_array() || value.is_object()) {
    for (const json& one : value) add_tensors(one, to);
  }
}

// Tensors that a loss takes, also through views and casts of them: labels, whose numbers count classes and are no index into the batch.
std::set<std::int64_t> taken_by_losses(const json& operators) {
  std::map<std::int64_t, std::int64_t> view_of;
  std::set<std::int64_t> taken;
  for (const json& op : operators) {
    std::vector<std::int64_t> given;
    for (const char* key : {"args", "kwargs"}) {
      if (op.contains(key)) add_tensors(op[key], given);
    }
    const json out = op.value("out", json());
    if (given.size() == 1 && out.is_number_integer()) {
      const auto known = view_of.find(given.front());
      view_of[out] = known == view_of.end() ? given.front() : known->second;
    }
    if (!op.value("op", "").contains("_loss")) continue;
    for (const std::int64_t id : given) {
      taken.insert(id);
      if (const auto known = view_of.find(id); known != view_of.end()) taken.insert(known->second);
    }
  }
  return taken;
}

class Joiner {
 public:
  // `number`: what the batch size stands for, where it is another one.
  Joiner(const Recording& measured, const Recording& other, const std::string& number)
      : measured_(measured), other_(other), there_(place_of(number, other.batch)), of_batch_(number.empty()) {}

  json run() {
    if (measured_.batch == other_.batch || measured_.batch <= 0 || other_.batch <= 0) throw Differs{"both have the same batch size"};
    json joined = measured_.document;
    joined["tensors"] = tensors(part(measured_, "tensors"), part(other_, "tensors"));
    Shapes shapes(measured_.document), shapes_of_other(other_.document);
    joined["operators"] = operators(part(measured_, "operators"), part(other_, "operators"), shapes, shapes_of_other);
    joined["batch_size"] = line(measured_.batch, other_.batch);
    joined["zeros_batch"] = measured_.batch;
    joined["allocator"] = json::object();  // the peak follows no line, and is compared at each size
    return joined;
  }

 private:
  static constexpr std::array<std::string_view, 5> kContents{"value", "min", "max", "slices", "zeros"};

  static const json& part(const Recording& from, const char* key) {
    const auto found = from.document.find(key);
    if (found == from.document.end() || !found->is_array()) throw Differs{std::string("`") + key + "` is missing"};
    return *found;
  }

  json tensors(const json& a, const json& b) const {
    if (a.size() != b.size())
      throw Differs{std::to_string(a.size()) + " tensors are there before the step at one size, " + std::to_string(b.size()) +
                    " at the other"};
    json joined = json::array();
    const std::set<std::int64_t> labels = taken_by_losses(part(measured_, "operators"));
    for (std::size_t at = 0; at < a.size(); ++at) {
      json one = json::object();
      for (const auto& [key, value] : a[at].items()) {
        if (std::ranges::find(kContents, key) != kContents.end()) continue;
        if (!b[at].contains(key)) throw Differs{"tensor " + std::to_string(at) + " has other properties"};
        one[key] = joined_value(value, b[at][key], key, "tensor " + std::to_string(at));
      }
      join_content(a[at], b[at], labels.contains(static_cast<std::int64_t>(at)), one);
      if (is_elsewhere(one)) one["offset"] = 0;
      joined.push_back(std::move(one));
    }
    return joined;
  }

  // `data[i : i + batch]` in memory that is as large in both recordings: where it begins counts steps, or comes by chance.
  static bool is_elsewhere(const json& joined) {
    return joined.contains("offset") && !joined["offset"].is_number() && joined.contains("storage_bytes") &&
           joined["storage_bytes"].is_number();
  }

  // What a tensor holds differs by chance. A largest value that grows as an index into the batch does is one, but for labels of a loss;
  // else what both hold is valid. With another number than the batch size a table may have fewer rows, too.
  void join_content(const json& a, const json& b, bool labels, json& to) const {
    for (const std::string_view key : kContents) {
      if (key != "slices" && a.contains(key)) to[key] = a[key];
    }
    if (a.contains("slices") && b.contains("slices")) join_slices(a["slices"], b["slices"], to);
    if (!is_whole(a, "min") || !is_whole(a, "max") || !is_whole(b, "min") || !is_whole(b, "max")) return;
    const std::int64_t most_a = a["max"], most_b = b["max"];
    to["min"] = std::min(a["min"].get<std::int64_t>(), b["min"].get<std::int64_t>());
    to["max"] = of_batch_ ? std::max(most_a, most_b) : std::min(most_a, most_b);
    const std::int64_t rise = most_b - most_a, batches = other_.batch - measured_.batch;
    if (labels || rise % batches != 0 || rise / batches <= 0) return;
    const std::int64_t behind = rise / batches * measured_.batch - most_a;  // 1 for the last index of a batch
    if (behind > 0 && behind <= rise / batches) to["max"] = line(most_a, most_b);
  }

  // Of a dimension that does not follow the batch.
  static void join_slices(const json& a, const json& b, json& to) {
    for (const json& one : a) {
      const auto other = std::ranges::find_if(b, [&](const json& each) { return each.at("dim") == one.at("dim"); });
      if (other == b.end() || other->at("max").size() != one.at("max").size()) continue;
      json both = one;
      for (std::size_t at = 0; at < one.at("max").size(); ++at) {
        both["min"].at(at) = std::min(one.at("min").at(at).get<std::int64_t>(), other->at("min").at(at).get<std::int64_t>());
        both["max"].at(at) = std::max(one.at("max").at(at).get<std::int64_t>(), other->at("max").at(at).get<std::int64_t>());
      }
      to["slices"].push_back(std::move(both));
    }
  }

  static bool is_whole(const json& object, const char* key) { return object.contains(key) && object[key].is_number_integer(); }

  json operators(const json& a, const json& b, Shapes& shapes, Shapes& shapes_of_other) const {
    json joined = json::array();
    std::size_t other = 0;
    for (const json& op : a) {
      if (is_free(op)) {
        joined.push_back(op);
        continue;
      }
      while (other < b.size() && is_free(b[other])) ++other;
      if (other == b.size()) throw Differs{"the step ends before operator " + place(op, joined.size())};
      const json& twin = b[other++];
      const auto moved = at_one_place(op, shapes, twin, shapes_of_other);
      joined.push_back(joined_operator(moved ? moved->first : op, moved ? moved->second : twin, joined.size()));
      for (const char* pass : {"forward", "backward"}) join_pass(op, twin, pass, shapes, shapes_of_other, joined.back());
      shapes.add(op);
      shapes_of_other.add(twin);
    }
    const bool longer = std::any_of(b.begin() + static_cast<std::ptrdiff_t>(other), b.end(), [](const json& op) { return !is_free(op); });
    if (longer) throw Differs{"the step at " + there_ + " goes on with more operators"};
    return joined;
  }

  json joined_operator(const json& a, const json& b, std::size_t at) const {
    const std::string where = "operator " + place(a, at);
    if (!a.is_object() || !b.is_object() || a.value("op", "") != b.value("op", "") || a.value("overload", "") != b.value("overload", "")) {
      throw Differs{where + " is " + (b.is_object() ? b.value("op", "") : "") + " at " + there_};
    }
    json joined = json::object();
    for (const auto& [key, value] : a.items()) {
      if (key == "shapes" || key == "forward" || key == "backward" || key == "last_named") continue;  // shapes follow from the arguments
      joined[key] = b.contains(key) ? joined_value(value, b[key], key, where) : value;
    }
    if (a.contains("last_named")) joined["last_named"] = a["last_named"];  // as what is let go
    return joined;
  }

  // Of a custom autograd function.
  void join_pass(const json& a, const json& b, const char* pass, Shapes& shapes, Shapes& shapes_of_other, json& to) const {
    const auto is_there = [&](const json& op) { return op.contains(pass) && op.at(pass).is_array(); };
    if (is_there(a) != is_there(b)) throw Differs{"a custom autograd function has another " + std::string(pass) + " pass"};
    if (is_there(a)) to[pass] = operators(a.at(pass), b.at(pass), shapes, shapes_of_other);
  }

  static std::string place(const json& op, std::size_t at) {
    return std::to_string(at) + (op.is_object() ? " (" + op.value("op", "") + ")" : "");
  }

  // `key`: the nearest member around it, which tells ids from sizes.
  json joined_value(const json& a, const json& b, std::string_view key, const std::string& where) const {
    if (a.is_number() && b.is_number()) return joined_number(a, b, key, where);
    if (a.type() != b.type()) throw Differs{where + " has arguments of other kinds"};
    if (a.is_array()) {
      if (a.size() != b.size()) throw Differs{where + " has lists of other lengths"};
      json joined = json::array();
      for (std::size_t at = 0; at < a.size(); ++at) joined.push_back(joined_value(a[at], b[at], key, where));
      return joined;
    }
    if (a.is_object()) {
      if (a.size() != b.size()) throw Differs{where + " is not the same"};
      json joined = json::object();
      for (const auto& [name, value] : a.items()) {
        if (!b.contains(name)) throw Differs{where + " is not the same"};
        joined[name] = joined_value(value, b[name], name, where);
      }
      return joined;
    }
    if (a != b) throw Differs{where + " is not the same"};
    return a;
  }

  json joined_number(const json& a, const json& b, std::string_view key, const std::string& where) const {
    static constexpr std::array<std::string_view, 8> kIdentities{"t", "gradient", "out", "id", "storage", "module", "call", "inputs"};
    if (a == b || !a.is_number_integer() || !b.is_number_integer()) return a;  // a real number changes neither time nor memory
    if (std::ranges::find(kIdentities, key) != kIdentities.end()) {
      if (key == "call") return a;
      throw Differs{where + " takes or gives other tensors"};
    }
    return line(a.get<std::int64_t>(), b.get<std::int64_t>());
  }

  json line(std::int64_t at_measured, std::int64_t at_other) const {
    const auto is_huge = [](std::int64_t number) { return number > kLargest || number < -kLargest; };
    if (is_huge(at_measured) || is_huge(at_other)) throw Differs{"a number is out of all bounds"};
    std::int64_t rise = at_other - at_measured, run = other_.batch - measured_.batch;
    const std::int64_t common = std::gcd(rise, run) * (run < 0 ? -1 : 1);
    rise /= common;
    run /= common;
    std::int64_t product = 0, scaled = 0;
    if (__builtin_mul_overflow(rise, measured_.batch, &product) || __builtin_mul_overflow(at_measured, run, &scaled)) {
      throw Differs{"a number is out of all bounds"};
    }
    return {{"batch", {scaled - product, rise, run}}};
  }

  const Recording& measured_;
  const Recording& other_;
  const std::string there_;
  const bool of_batch_;
};

std::unexpected<Error> differ(const std::string& both, const Differs& difference) {
  return std::unexpected(Error{ErrorCode::unsupported, "The steps " + both + " differ: " + difference.what + ".", {}});
}

std::unexpected<Error> broken(const json::exception& reason) {
  return std::unexpected(Error{ErrorCode::malformed, std::string("A recorded program is broken: ") + reason.what(), {}});
}

Result<json> joined(const Recording& measured, const Recording& other, const std::string& number) {
  const std::string one = std::to_string(measured.batch), two = std::to_string(other.batch);
  const std::string both = number.empty() ? "at batch sizes " + one + " and " + two
                                          : "at " + place_of(number, measured.batch) + " and " + place_of(number, other.batch);
  try {
    const json paired = with_numbers_of(measured.document, other.document);
    return Joiner(measured, {paired, other.batch}, number).run();
  } catch (const Differs& difference) {
    return differ(both, difference);
  } catch (const json::exception& reason) {
    return broken(reason);
  }
}

}  // namespace

Result<json> join(const Recording& measured, const Recording& other) {
  return joined(measured, other, {});
}

Result<json> join(const Recording& measured, const Recording& second, const Recording& third, const std::string& number) {
  if (measured.batch == second.batch || measured.batch == third.batch || second.batch == third.batch)
    return std::unexpected(Error{ErrorCode::unsupported, "Two of three steps have the same " + number + ".", {}});
  std::vector<json> lines;
  for (const Recording& other : {second, third}) {
    auto line = joined(measured, other, number);
    if (!line) return line;
    lines.push_back(std::move(*line));
  }
  auto all = curves(lines[0], lines[1], {measured.batch, second.batch, third.batch});
  return all ? std::move(*all) : Result<json>(differ("at three values of " + number, {all.error()}));
}

}  // namespace hotlens::lab

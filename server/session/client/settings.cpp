#include "server/session/client/settings.h"
#include "server/features/words/hint_units.h"

#include <algorithm>
#include <string_view>

namespace hotlens::session {
namespace {

using protocol::Json;

const Json* member(const Json& object, const std::string& key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && !found->is_null() ? &*found : nullptr;
}

// "hints.enabled" as {"hints": {"enabled": …}}, {"hints.enabled": …} or {"hotlens.hints.enabled": …}.
const Json* find(const Json& section, const std::string& key) {
  if (const Json* direct = member(section, key)) return direct;
  if (const Json* full = member(section, "hotlens." + key)) return full;
  const auto dot = key.find('.');
  if (dot == std::string::npos) return nullptr;
  const Json* group = member(section, key.substr(0, dot));
  return group != nullptr ? member(*group, key.substr(dot + 1)) : nullptr;
}

std::optional<HintPlace> place_named(std::string_view name) {
  if (name == "endOfLine") return HintPlace::end_of_line;
  return name == "above" ? std::optional(HintPlace::above) : std::nullopt;
}

class SettingsReader {
 public:
  SettingsReader(const Json& section, std::vector<std::string>& complaints) : section_(section), complaints_(complaints) {}

  void text(const std::string& key, std::string& to) {
    take(key, "text", [](const Json& value) { return value.is_string(); }, [&](const Json& value) { to = value.get<std::string>(); });
  }
  void boolean(const std::string& key, bool& to) {
    take(key, "true or false", [](const Json& value) { return value.is_boolean(); }, [&](const Json& value) { to = value.get<bool>(); });
  }
  void percent(const std::string& key, double& to) {
    const auto fits = [](const Json& value) { return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 100; };
    take(key, "a number from 0 to 100", fits, [&](const Json& value) { to = value.get<double>(); });
  }
  void count(const std::string& key, int least, std::optional<int>& to) {
    const auto fits = [&](const Json& value) {
      return value.is_number_integer() && value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= 1'000'000;
    };
    take(key, "a whole number of at least " + std::to_string(least), fits, [&](const Json& value) { to = value.get<int>(); });
  }
  void count(const std::string& key, int least, int& to) {
    std::optional<int> read = to;
    count(key, least, read);
    to = *read;
  }
  // `of` gives the value of a name; nothing where it is none.
  template <class Value, class Of>
  void choice(const std::string& key, const std::string& names, const Of& of, Value& to) {
    const auto named = [&](const Json& value) {
      return value.is_string() ? of(value.get_ref<const std::string&>()) : std::optional<Value>();
    };
    take(key, names, named, [&](const Json& value) { to = *named(value); });
  }
  void list(const std::string& key, std::vector<std::string>& to) {
    const auto fits = [](const Json& value) {
      return value.is_array() && std::ranges::all_of(value, [](const Json& item) { return item.is_string(); });
    };
    take(key, "a list of texts", fits, [&](const Json& value) { to = value.get<std::vector<std::string>>(); });
  }

 private:
  template <class Fits, class Store>
  void take(const std::string& key, const std::string& expected, const Fits& fits, const Store& store) {
    const Json* value = find(section_, key);
    if (value == nullptr) return;
    if (static_cast<bool>(fits(*value))) {
      store(*value);
    } else {
      complaints_.push_back("The setting hotlens." + key + " must be " + expected + "; its default is used.");
    }
  }

  const Json& section_;
  std::vector<std::string>& complaints_;
};

}  // namespace

SettingsRead read_settings(const Json& value, const Settings& base) {
  SettingsRead read{base, {}};
  const Json* section = member(value, "hotlens");
  SettingsReader reader(section != nullptr ? *section : value, read.complaints);
  Settings& to = read.settings;
  reader.text("python", to.python);
  reader.boolean("hints.enabled", to.hints_enabled);
  reader.percent("hints.minPercent", to.hints_min_percent);
  reader.count("hints.longLine", 0, to.hints_long_line);
  reader.choice("hints.place", "endOfLine or above", place_named, to.hints_place);
  reader.choice("hints.unit", "time, share, memory or throughput", features::unit_named, to.hints_unit);
  reader.boolean("heat", to.heat);
  reader.boolean("symbols", to.symbols);
  reader.boolean("predict.edits", to.predict_edits);
  reader.text("profile.trace", to.trace);
  reader.text("profile.script", to.script);
  reader.list("profile.args", to.args);
  reader.count("profile.rank", 0, to.rank);
  reader.count("profile.warmup", 0, to.warmup);
  reader.count("profile.steps", 1, to.steps);
  return read;
}

}  // namespace hotlens::session

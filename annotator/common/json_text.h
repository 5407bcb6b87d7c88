// JSON text, written as it goes: no tree of it is ever in memory.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hotlens {

// A JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

// One document, two spaces of indentation. Keys are ours and are not escaped; strings are. A double that is no number becomes null.
class JsonText {
 public:
  // Writes what `body` writes between brackets: members of an object, or elements of an array.
  template <std::invocable Body>
  void object(Body body) {
    open('{');
    body();
    close('}');
  }
  template <std::invocable Body>
  void array(Body body) {
    open('[');
    body();
    close(']');
  }
  template <std::invocable Body>
  void object(std::string_view name, Body body) {
    key(name);
    object(body);
  }
  template <std::invocable Body>
  void array(std::string_view name, Body body) {
    key(name);
    array(body);
  }

  void member(std::string_view name, std::string_view value);
  void member(std::string_view name, double value);
  // Of an array.
  void element(std::string_view value);
  void null(std::string_view name) { literal(name, "null"); }
  template <std::integral Value>
  void member(std::string_view name, Value value) {
    if constexpr (std::same_as<Value, bool>) {
      literal(name, value ? "true" : "false");
    } else {
      number(name, static_cast<std::int64_t>(value));
    }
  }

  std::string take() && { return std::move(out_); }

 private:
  void separate();
  void key(std::string_view name);
  void literal(std::string_view name, std::string_view text);
  void number(std::string_view name, std::int64_t value);
  void open(char bracket);
  void close(char bracket);

  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;     // nothing stands in the innermost bracket yet
  bool follows_ = false;  // a key: its value comes next, on the same line
};

}  // namespace hotlens

#include "protocol/reader.h"

#include <limits>
#include <utility>

namespace hotlens::protocol {
namespace {

const Json kNothing;

}  // namespace

Reader::Reader(const Json& value) : value_(&value), wrong_(std::make_shared<std::string>()) {}

Reader::Reader(const Json& value, std::string path, std::shared_ptr<std::string> wrong)
    : value_(&value), path_(std::move(path)), wrong_(std::move(wrong)) {}

void Reader::fail(std::string_view expected) const {
  if (!wrong_->empty()) return;
  *wrong_ = "expected " + std::string(expected) + " at " + (path_.empty() ? "params" : path_);
}

std::optional<RpcError> Reader::error() const {
  if (wrong_->empty()) return std::nullopt;
  return RpcError{Code::invalid_params, *wrong_};
}

Reader Reader::operator[](std::string_view key) const {
  if (!value_->is_object()) fail("an object");
  const auto found = value_->is_object() ? value_->find(key) : value_->end();
  const Json& member = value_->is_object() && found != value_->end() ? *found : kNothing;
  return {member, path_ + "/" + std::string(key), wrong_};
}

std::optional<Reader> Reader::maybe(std::string_view key) const {
  if (value_->is_null()) return std::nullopt;
  Reader member = (*this)[key];
  if (member.value_->is_null()) return std::nullopt;
  return member;
}

std::vector<Reader> Reader::items() const {
  std::vector<Reader> items;
  if (!value_->is_array()) {
    fail("an array");
    return items;
  }
  items.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) items.push_back({(*value_)[i], path_ + "/" + std::to_string(i), wrong_});
  return items;
}

std::string Reader::string() const {
  if (value_->is_string()) return value_->get<std::string>();
  fail("a string");
  return {};
}

std::int64_t Reader::integer() const {
  if (value_->is_number_integer()) return value_->get<std::int64_t>();
  fail("an integer");
  return 0;
}

std::uint32_t Reader::unsigned32() const {
  if (value_->is_number_integer()) {
    const auto number = value_->get<std::int64_t>();
    if (number >= 0 && number <= std::numeric_limits<std::int32_t>::max()) return static_cast<std::uint32_t>(number);
  }
  fail("an integer from 0 to 2147483647");
  return 0;
}

bool Reader::boolean() const {
  if (value_->is_boolean()) return value_->get<bool>();
  fail("true or false");
  return false;
}

}  // namespace hotlens::protocol

#include "server/session/profiling/script_output.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "protocol/messages.h"

namespace hotlens::session {
namespace {

constexpr std::chrono::milliseconds kSendEvery{50};
// More than a screen of any size.
constexpr std::size_t kMostWaiting = std::size_t{64} * 1024;

// Ours is dim, so that it is not taken for the script's.
std::string ours(std::string_view words) {
  return "\x1b[2m" + std::string(words) + "\x1b[0m\n";
}

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::size_t whole_characters(std::string_view text) {
  std::size_t first = text.size();
  for (std::size_t back = 1; back <= 4 && back <= text.size(); ++back) {
    first = text.size() - back;
    if (!continues(text[first])) break;
  }
  if (first == text.size()) return first;
  const auto ones = static_cast<std::size_t>(std::countl_one(static_cast<unsigned char>(text[first])));
  const bool unfinished = ones >= 2 && ones <= 4 && text.size() - first < ones;
  return unfinished ? first : text.size();
}

void ScriptOutput::begin(const std::string& command) {
  begins_ = true;
  left_out_ = 0;
  started_ = {};
  waiting_ = ours("$ " + command);
  send();
}

void ScriptOutput::write(std::string_view bytes, bool is_error) {
  std::string& started = started_[is_error ? 1 : 0];
  std::string text = std::exchange(started, {}) + std::string(bytes);
  const std::size_t whole = whole_characters(text);
  started = text.substr(whole);
  waiting_.append(text, 0, whole);
  if (waiting_.size() > kMostWaiting) {
    // From the start of a line on, or of a character where there is no line.
    std::size_t cut = waiting_.size() - kMostWaiting;
    if (const std::size_t line = waiting_.find('\n', cut); line != std::string::npos && line + 1 < waiting_.size()) cut = line + 1;
    while (cut < waiting_.size() && continues(waiting_[cut])) ++cut;
    waiting_.erase(0, cut);
    left_out_ += cut;
  }
  send_soon();
}

void ScriptOutput::end(const std::string& said) {
  waiting_ += "\n" + ours(said);
  send();
}

void ScriptOutput::send_soon() {
  if (std::exchange(due_, true)) return;
  tick_ = loop_.after(kSendEvery, [this] { send(); });
}

void ScriptOutput::send() {
  due_ = false;
  tick_ = {};
  if (!client_.can.output) return waiting_.clear();
  if (left_out_ > 0) waiting_.insert(0, "\n" + ours("(" + std::to_string(left_out_) + " bytes came too fast to be shown)"));
  left_out_ = 0;
  protocol::Json params{{"text", std::exchange(waiting_, {})}};
  const bool begins = std::exchange(begins_, false);
  if (begins) params["begins"] = true;
  client_.notify(protocol::message::kOutput, params, begins ? Output::Weight::needed : Output::Weight::droppable);
}

}  // namespace hotlens::session

// Who gets in: pure checks of a request's target, Host, Origin and token.
//
// Everybody on this machine can reach a loopback port, and so can a page from anywhere through the user's browser. The token keeps out the
// former; the Host check keeps out a foreign name that resolves to loopback, and the Origin check every page but our own.
//
// An address that a program is started with can be read by everybody (/proc/PID/cmdline). It has a code instead, which is exchanged once,
// for a moment, and by the same user (peer.h) for the address with the token. The page takes the token out of the address bar.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotlens::web {

// 256 random bits from the operating system, as hexadecimal digits.
std::string random_token();

// Takes the same time for every wrong token of the right length.
bool same_token(std::string_view given, std::string_view expected);

struct Asked {
  std::string_view target;  // "/ws?token=…"
  std::string_view host;    // the Host header
  std::optional<std::string_view> origin;
};

enum class Admission : std::uint8_t { page, empty_page, socket, once, file, wrong_place, no_token, not_found };

// `file`: a part of the page, which holds nothing of a profile and needs no token, as `empty_page`: one that is
// loaded again and has the token in its memory. `once`: a code that has to be looked at.
Admission admit(const Asked& asked, std::uint16_t port, std::string_view token);

// The sentence for a person who was refused.
std::string_view refusal(Admission admission);

std::string_view code_in(std::string_view target);

// Codes that count once, each for a short while. May be used from any thread.
class OneUse {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::minutes kValid{1};  // a cold browser takes seconds to start

  std::string make(Clock::time_point now = Clock::now());
  bool take(std::string_view code, Clock::time_point now = Clock::now());

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, Clock::time_point>> codes_;  // and until when
};

// The path of a target, without the query. Percent escapes are kept: none of our names needs one.
std::string_view path_of(std::string_view target);

}  // namespace hotlens::web

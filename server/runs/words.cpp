#include "server/runs/words.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace hotlens::runs {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kOperators = "|&;<>()`";

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '{' || c == '(';
}

class Splitter {
 public:
  Splitter(std::string_view line, std::string_view home) : line_(line), home_(home) {}

  Result<std::vector<std::string>> split() {
    while (at_ < line_.size() && !wrong_) step();
    if (wrong_) return std::unexpected(Error{ErrorCode::usage, *wrong_, {}});
    end_word();
    return std::move(words_);
  }

 private:
  void step() {
    const char c = line_[at_];
    if (kBlank.contains(c)) return end_word(), void(++at_);
    if (c == '\'') return single_quoted();
    if (c == '"') return double_quoted();
    if (c == '\\') return escaped("");
    if (c == '~' && !word_ && begins_home()) return add(home_), void(++at_);
    if (kOperators.contains(c)) return fail(std::string("`") + c + "` means something to a shell only: put it in quotes");
    plain();
  }

  bool begins_home() const {
    return !home_.empty() && (at_ + 1 == line_.size() || (kBlank.contains(line_[at_ + 1]) || line_[at_ + 1] == '/'));
  }

  // A character that stands for itself, if it does.
  void plain() {
    if (line_[at_] == '\0') return fail("a character with the code 0 cannot be passed on");
    if (line_[at_] == '$' && at_ + 1 < line_.size() && begins_name(line_[at_ + 1])) {
      return fail("variables are not replaced: write the value, or put the word in single quotes");
    }
    add(line_.substr(at_++, 1));
  }

  void single_quoted() {
    const std::size_t end = line_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return fail("the quote ' is not closed");
    const std::string_view inside = line_.substr(at_ + 1, end - at_ - 1);
    if (inside.contains('\0')) return fail("a character with the code 0 cannot be passed on");
    add(inside);
    at_ = end + 1;
  }

  void double_quoted() {
    const std::size_t begin = at_++;
    add("");
    while (at_ < line_.size() && line_[at_] != '"' && !wrong_) {
      if (line_[at_] == '\\') {
        escaped("$`\"\\\n");
      } else if (line_[at_] == '`') {
        return fail("commands are not run: put the word in single quotes");
      } else {
        plain();
      }
    }
    if (wrong_) return;
    if (at_ == line_.size()) return at_ = begin, fail("the quote \" is not closed");
    ++at_;
  }

  // `only`: what a backslash escapes; before all else it stands for itself. Empty: everything.
  void escaped(std::string_view only) {
    if (at_ + 1 == line_.size()) return fail("nothing comes after the backslash");
    const char next = line_[at_ + 1];
    if (next == '\0') return fail("a character with the code 0 cannot be passed on");
    const bool stays = !only.empty() && !only.contains(next);
    if (stays) add("\\");
    if (next != '\n' || stays) add(line_.substr(at_ + 1, 1));  // a line that goes on
    at_ += 2;
  }

  void add(std::string_view text) {
    if (!word_) word_.emplace();
    *word_ += text;
  }
  void end_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }
  void fail(std::string what) { wrong_ = std::move(what) + " (character " + std::to_string(at_ + 1) + ")"; }

  std::string_view line_, home_;
  std::size_t at_ = 0;
  std::optional<std::string> word_;
  std::vector<std::string> words_;
  std::optional<std::string> wrong_;
};

}  // namespace

Result<std::vector<std::string>> split_words(std::string_view line, std::string_view home) {
  return Splitter(line, home).split();
}

std::string quoted(const std::vector<std::string>& argv) {
  constexpr std::string_view kPlain = "-_./=:,+@%";
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte >= 0x80 || std::isalnum(byte) != 0 || kPlain.contains(c);
    });
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace hotlens::runs

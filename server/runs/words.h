// One line of a shell as its words: `--data "my data" --lr 1e-3`.
//
// Quotes and escapes mean what they mean to a POSIX shell, and `~/` at the start of a word is the home folder. Nothing ever passes a shell,
// so what one would do more (pipes, redirections, variables, commands in backticks) is refused rather than handed on as text; patterns
// (`*`, `[1,2]`) stay as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::runs {

// `home`: empty leaves `~` alone. The error is half a sentence without an end: "the quote ' of character 7 is not closed".
Result<std::vector<std::string>> split_words(std::string_view line, std::string_view home = "");

// One line for people that split_words() reads back: words quoted as a shell would need them. Never run through a shell of this machine.
std::string quoted(const std::vector<std::string>& argv);

}  // namespace hotlens::runs

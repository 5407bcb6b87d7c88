// Python files as people write them, for tests that need real text: the project's examples and the installed libraries'.
#pragma once

#include <string>
#include <vector>

namespace hotlens::source::test {

struct RealFile {
  std::string path, text;
};

// At least one file; more where Python's library, torch or transformers are found.
std::vector<RealFile> real_files();

// HOTLENS_TEST_SEED, or a new one for every run; tests print it when they fail.
unsigned seed();

}  // namespace hotlens::source::test

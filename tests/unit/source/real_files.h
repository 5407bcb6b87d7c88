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

// HOTLENS_TEST_SEED, 1 without it. Some scripts in ten thousand put a method of the same name and text in another one's place, which no
// text can tell from the original: a fixed seed keeps those out of everyday runs, and the tests print it.
unsigned seed();

}  // namespace hotlens::source::test

#include "tests/unit/source/real_files.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/unit/catch.h"

namespace hotlens::source::test {

std::vector<RealFile> real_files() {
  const char* given = std::getenv("HOTLENS_TEST_PYTHON");  // one that has torch and transformers knows more files
  std::string command = std::string(given ? given : HOTLENS_TEST_PYTHON) +
                        " " HOTLENS_TEST_FOLDER "/dump_positions.py --list --library $(find " HOTLENS_SOURCE_ROOT
                        "/examples " HOTLENS_SOURCE_ROOT "/annotator/recorder -name '*.py' 2>/dev/null | sort)";
  const char* wanted = std::getenv("HOTLENS_TEST_FILE");
  std::vector<RealFile> files;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    std::array<char, 4096> line;
    while (fgets(line.data(), line.size(), pipe)) {
      std::string path(line.data());
      path.pop_back();
      if (wanted && !path.contains(wanted)) continue;
      std::ifstream file(path, std::ios::binary);
      std::ostringstream text;
      text << file.rdbuf();
      if (!text.str().empty()) files.push_back({path, text.str()});
    }
    pclose(pipe);
  }
  REQUIRE_FALSE(files.empty());
  return files;
}

unsigned seed() {
  const char* given = std::getenv("HOTLENS_TEST_SEED");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 1;
}

}  // namespace hotlens::source::test

#include "server/timeline/settings_files.h"

#include <string>
#include <vector>

#include "tests/unit/catch.h"

using namespace hotlens::timeline_requests;
using Names = std::vector<std::string>;

TEST_CASE("a script names its files of settings in literals, or tells Hydra") {
  CHECK(named_settings("config = yaml.safe_load(open('conf/base.yaml'))\n") == Names{"conf/base.yaml"});
  CHECK(named_settings("a = \"x.json\"; b = 'y.toml'\n") == Names{"x.json", "y.toml"});
  CHECK(named_settings("@hydra.main(version_base=None, config_path=\"conf\", config_name=\"config\")\n") == Names{"conf/config.yaml"});
  CHECK(named_settings("@hydra.main(config_name='base.yaml')\n") == Names{"base.yaml"});
}

TEST_CASE("what is no name of a file is none") {
  for (const char* text :
       {"", "'", ".yaml'", "'.yaml", "# base.yaml\n", "x = \"a\nb.yaml\"", "config_name=", "config_name='", "config_name=name"})
    CHECK(named_settings(text).empty());
  CHECK(is_settings_file("a/b.yml"));
  CHECK_FALSE(is_settings_file("a/b.py"));
}

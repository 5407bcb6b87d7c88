// The tools that an agent is offered: name, what it is good for, and the shapes of what it takes and answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/mcp/answers.h"

namespace hotlens::mcp {

enum class Work : std::uint8_t { read, predict, whatif, profile };

struct Tool {
  std::string name, title, description;
  Work work = Work::read;
  Result<Json> (*answer)(const Folder& folder, const Json& arguments) = nullptr;  // of Work::read
  Json properties;                                                                // of the arguments: a schema by name
  std::vector<std::string> required;
  Json output;  // the whole schema

  Json listed() const;  // as tools/list has it
};

const std::vector<Tool>& tools();
const Tool* tool_named(std::string_view name);

// An argument that the tool does not know is a slip that the agent can correct.
Result<void> check_names(const Tool& tool, const Json& arguments);

}  // namespace hotlens::mcp

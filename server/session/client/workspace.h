// What the client has told of itself and its files: the one state that the parts of a session share. Changed by the session alone.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include "server/session/client/capabilities.h"
#include "server/session/client/settings.h"
#include "server/session/documents/documents.h"
#include "server/session/documents/notebooks.h"

namespace hotlens::session {

struct Workspace {
  Documents documents;
  Notebooks notebooks;  // each is one of the documents, too
  std::vector<std::filesystem::path> folders;
  std::set<std::filesystem::path> run_folders;  // where runs left their bundles
  Settings settings;
  bool trusted = true;
};

}  // namespace hotlens::session

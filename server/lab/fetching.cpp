#include "server/lab/fetching.h"

#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/loop.h"

namespace hotlens::lab {

double fetch_share(const std::filesystem::path& bundle) {
  const auto manifest = profile::read_manifest(bundle);
  const auto model = profile::read_model(bundle);
  if (!manifest || !model || manifest->loop.empty()) return 0;
  const auto loop = profile::read_loop(bundle, *manifest, model->files.size());
  if (!loop) return 0;
  const profile::LoopStatement* fetch = profile::fetching(*loop, model->stages);
  return fetch == nullptr ? 0 : profile::share(*loop, fetch->total);
}

}  // namespace hotlens::lab
